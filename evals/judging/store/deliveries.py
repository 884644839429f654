"""What the process that judges hands to the xdist workers that report: rows and flags of a run."""

from evals.judging.store.file import StoreFile


class Deliveries(StoreFile):
    """Finished rows and flags, by run id; gone with their run, as answers never are."""

    def begin_run(self, run_id: str) -> None:
        """Clear what a killed run of the same name left, and prove that the file can be written.

        To be called before the first call is paid for.

        Raises:
            StoreError: it cannot be written.
        """
        self.set_state(run_id, "begun", "yes")  # really written: deleting nothing writes nothing
        self.clear_results(run_id)

    def put_result(self, run_id: str, case_id: str, row: str) -> None:
        """Commit what a case of a run came to; the last word stays.

        Args:
            run_id: the run.
            case_id: the case's key, unique in the run.
            row: JSON text for whoever reads it: xdist workers.

        Raises:
            StoreError: it cannot be written.
        """
        with self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?)", (run_id, case_id, row)
            )

    def get_result(self, run_id: str, case_id: str) -> str | None:
        """Return what ``put_result`` wrote, or None where nothing is there yet.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._one(
            "SELECT row FROM results WHERE run_id = ? AND case_id = ?", run_id, case_id
        )

    def set_state(self, run_id: str, name: str, value: str) -> None:
        """Commit a flag of a run; the last word stays.

        Raises:
            StoreError: it cannot be written.
        """
        with self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO run_states VALUES (?, ?, ?)", (run_id, name, value)
            )

    def get_state(self, run_id: str, name: str) -> str | None:
        """Return a flag of a run, or None where it is not set.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._one("SELECT value FROM run_states WHERE run_id = ? AND name = ?", run_id, name)

    def clear_results(self, run_id: str) -> None:
        """Delete a run's results and flags; answers are never deleted.

        Raises:
            StoreError: they cannot be deleted.
        """
        with self._writing():
            self._db.execute("DELETE FROM results WHERE run_id = ?", (run_id,))
            self._db.execute("DELETE FROM run_states WHERE run_id = ?", (run_id,))

    def _one(self, query: str, *values: str) -> str | None:
        with self._told():
            row = self._db.execute(query, values).fetchone()
        return None if row is None else str(row[0])
