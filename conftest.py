pytest_plugins = ["evals.plugin"]
