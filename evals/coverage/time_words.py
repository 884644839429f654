"""What the date library cannot know: quoted speech, habits, names, and words with no date in them.

Patterns for ``evals.coverage.relative_time``, which says how they are used. For English the
phrases that facts usually have; for German, Spanish and Japanese the common words that the library
leaves unread.
"""

import re

_UNIT = (
    r"(?:seconds?|minutes?|hours?|days?|weeks?|fortnights?|months?|years?|decades?|"
    r"Sekunden?|Minuten?|Stunden?|Tag(?:en?|e)?|Wochen?|Monat(?:en?|e)?|Jahr(?:en?|e)?|"
    r"segundos?|minutos?|horas?|d[ií]as?|semanas?|mes(?:es)?|años?|秒間?|分間?|時間|日間?|週間|[ヶか]月間?|年間?)"
)
_NUMBER = (
    r"(?:\d+(?:[-\u2013.,]\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"fifteen|twenty|thirty|forty|fifty|half an?|several|(?:a )?few|(?:a )?couple of|"
    r"ein(?:e[mnrs]?)?|"
    r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|"
    r"una?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce)"
)
_AMOUNT = rf"{_NUMBER}(?:\s+(?:to|or)\s+{_NUMBER})?[\s-]*{_UNIT}"
_WEEKDAYS = (
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|"
    r"(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|Sonnabend|"
    r"lunes|martes|miércoles|jueves|viernes|sábado|domingo|[月火水木金土日]曜日?"
)
_MONTHS = (
    r"January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|"
    r"Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|"
    r"enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
_SPAN = (
    rf"(?:{_UNIT}|weekends?|quarters?|semesters?|terms?|seasons?|springs?|summers?|autumns?|falls?|"
    r"winters?)"
)
_HOLIDAY = (
    r"(?:Christmas|Xmas|Easter|Thanksgiving|Hall?owe'?en|New Year(?:['\u2019]s(?: Eve| Day)?)?|"
    r"Valentine['\u2019]?s(?: Day)?|Hanukkah|Passover|Ramadan|Eid|Diwali|Pentecost)"
)
_SHORT_UNIT = r"(?:y|yrs?|mos?|mths?|w|wks?|d|h|hrs?|mins?|secs?)"
_OWN_NOW = (
    r"(?:jobs?|role|position|employer|boss|compan(?:y|ies)|team|projects?|home|house|flat|apartment|"
    r"address|city|town|partner|boyfriend|girlfriend|husband|wife|spouse|relationship|situation|"
    r"goals?|plans?|studies|school|salary|income|weight|age)"
)
_PART_OF_DAY = r"(?:morning|afternoon|evening|night)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


QUOTED = re.compile(
    r"\"[^\"]+\"|“[^”]+”|«[^»]+»|„[^“”]+[“”]|「[^」]+」|『[^』]+』|\u2018[^\u2019]+\u2019(?!\w)|"
    r"(?<!\w)'(?:[^']|'(?=\w))+'(?!\w)"
)
"""Speech or a title between quotation marks; an apostrophe inside a word closes nothing."""

_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
STAMP = re.compile(
    r"(?<![\d-])\d{4}-\d{2}(?:-\d{2})?(?:[T ]\d{2}:\d{2}(?::\d{2})?)?(?: ?(?:Z|UTC)\b)?(?![\d-])|"
    rf"\b(?:{_DAY}\s*(?:(?:to|and|-)\s*{_DAY}\s*)?(?:of\s+|de\s+)?)?(?:{_MONTHS})\b\.?\s*"
    rf"(?:de\s+)?(?:{_DAY}\s*(?:(?:to|and|-)\s*{_DAY}\s*)?)?,?\s*\d{{4}}\b|"
    r"(?<!\d)\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?",
    re.IGNORECASE,
)
"""Dates and months in full, ISO or with the month's name: absolute, and blanked out beforehand
because the library takes them apart where a number or a weekday stands beside them."""

DECADE = re.compile(r"(?:\b\d{3}|')\d?0s\b")
"""``1990s``, ``'90s``: the library reads seconds."""

YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d{2}(?!\d)")
"""A number that an absolute date must hold; ``1200`` euros is none."""
YEAR_BEFORE = re.compile(
    r"\b(?:of|in|by|before|after|since|until|till|during|from|early|mid|late|spring|summer|autumn|"
    r"fall|winter|im|seit|vor|nach|bis|ab|en|desde|hasta|de|año)[\s-]+(?:the\s+)?$",
    re.IGNORECASE,
)
"""What makes such a number a year where no month stands beside it: ``1900`` euros is none."""
BIRTH_BEFORE = re.compile(r"\bborn\b(?:\s+\w+){0,4}\s*$", re.IGNORECASE)
"""A date of birth says nothing of when the rest of a fact holds."""

BARE_NUMBERS = re.compile(
    rf"(?:\b(?:{_NUMBER}|of|the|to|or|and|in|at|on|about)\b|\W)+", re.IGNORECASE
)
"""``two of the eleven``: the library reads the hour."""

DISTANCE = re.compile(
    rf"(?:\b(?:about|around|some|roughly|nearly|exactly)\b\s+)?{_AMOUNT}\s+(?:before|after)\b",
    re.IGNORECASE,
)
DISTANCE_TO = re.compile(r"\s+(?!it\b|that\b\W*$|this\b\W*$|then\b)\w")
"""``ten days before the wedding``: counted from something that is named, not from the speaking."""

AMOUNT = re.compile(
    rf"\W*(?:(?:for|about|over|nearly|almost|of|and|at|on|to|the|last(?:ed|s)?)\s+)*"
    rf"(?:{_AMOUNT}\W*(?:and\s+)?)+(?:(?:a|an|per|each)\s+{_UNIT})?"
    rf"(?:\s+(?:a|in|on|at|to|the|of|for|with|and|um|y))*\W*",
    re.IGNORECASE,
)
"""A length of time or a rate: the library takes ``three years`` for three years ago."""

AMOUNT_AHEAD = re.compile(
    rf"\W*in\s+(?:{_AMOUNT}\W*(?:and\s+)?)+(?:\s*(?:a|on|at|to|the|of|for|with))*\W*", re.IGNORECASE
)
"""``in three weeks``: ahead of now, or how long a thing took."""
AMOUNT_TO_DATE = re.compile(
    rf"\W*(?:(?:in|on|within|about|the)\s+)*{_AMOUNT}\s+"
    r"(?:before|after|of|to|until|from|prior to)\s+~",
    re.IGNORECASE,
)
"""``two weeks before 2026-03-14``, with the date blanked out."""
SPAN_OF_DATE = re.compile(r"\bthe\s+(?:last|past|next|previous|following|coming)\b", re.IGNORECASE)
"""``the next year``: open, where ``next year`` is relative in any company."""
SHORT_UNIT = _any(r"\b(?:seconds?|minutes?|hours?)\b")
"""Of these it is how long, unless ``FUTURE`` says otherwise."""
FUTURE = _any(r"\b(?:will|shall|going to|plans? to|about to|due|leaves|starts|begins|ends)\b")

PART_OF_DAY = re.compile(rf"\W*an?\s+{_PART_OF_DAY}\W*", re.IGNORECASE)
"""``a morning`` jog."""

CLOCK = re.compile(
    r"\W*(?:(?:at|from|by|until|till|around|to|and|the|of|on|in|um|a las|las)\s+)*"
    r"(?:\d{1,2}(?:[:.]\d{2}){0,2}|noon|midnight)?\s*(?:o'clock|a\.?m\.?|p\.?m\.?|Uhr|h)?\W*",
    re.IGNORECASE,
)
"""A time of day by itself: of a habit, or of a date that stands elsewhere in the fact."""

WEEKDAY = re.compile(rf"\b(?:{_WEEKDAYS})\b|[月火水木金土日]曜日", re.IGNORECASE)
MONTH = re.compile(rf"\b(?:{_MONTHS})\b", re.IGNORECASE)
HABIT = _any(
    r"\b(?:every|each|weekly|monthly|yearly|annual(?:ly)?|usually|always|often|regularly|mostly|"
    r"typically|sometimes|most|alternate|any|once a|twice a|times a)\b",
    r"\b(?:jede[mnrs]?|immer|oft|meistens|wöchentlich)\b",
    r"\b(?:cada|siempre|todos los|todas las)\b",
    r"毎[週月年日]",
)
"""What makes a weekday or a month without a year come round again and again."""

YEARLY = re.compile(
    r"\b(?:birthdays?|anniversar(?:y|ies)|Geburtstag|cumpleaños)\b|誕生日", re.IGNORECASE
)
"""The same for a day and a month, but not for a weekday."""

TIME_BEFORE = re.compile(
    r"\b(?:on|in|since|until|till|by|during|from|before|after|this|next|last|coming|past|early|mid|"
    r"late|of|starting|am|im|seit|bis|ab|nächsten?|letzten?|el|en|desde|hasta|próximo|pasado)"
    r"(?:\s+(?:the|early|late|mid))?[\s-]*$",
    re.IGNORECASE,
)
"""What stands before a weekday or a month that is a time, and not a name or an attribute."""
MONTH_DAY_BEFORE = re.compile(r"\d(?:st|nd|rd|th|\.)?\s*(?:of\s+|de\s+)?$", re.IGNORECASE)
MONTH_DAY_AFTER = re.compile(r"\s+\d{1,2}(?:st|nd|rd|th)?\b", re.IGNORECASE)
TIME_AFTER = re.compile(
    rf"\s*(?:$|[.,;)]|(?:{_PART_OF_DAY}|and|or|at|for|with|to|through|next|last|then)\b)",
    re.IGNORECASE,
)
"""What stands after a weekday that is a time although nothing before it says so."""
TITLED = re.compile(
    r"\b(?:[A-Z]\w*\s+)+(?:Today|Tomorrow|Yesterday|Tonight)\b|"
    rf"\b(?:(?:Mr|Mrs|Ms|Dr)\b\.?|Miss|Ruby)\s+(?:{_WEEKDAYS})\b"
)
"""``USA Today``, ``The Day After Tomorrow``: inside a sentence only a name has these capitals."""
NAMED_BEFORE = re.compile(
    r"\b(?:called|named|Black|Good|Easter|Cyber|Giving|Ash|Palm|Whit|Shrove|Super|Casual)\s+$",
    re.IGNORECASE,
)
NAMED_AFTER = re.compile(
    r"['\u2019]s\b|\s+(?:[A-Z][a-z]+\b|mornings\b|afternoons\b|evenings\b|nights\b)"
)

BESIDE_DATE = re.compile(r"~[\s,(]*(?:an?\s+)?$", re.IGNORECASE)
BESIDE_DATE_AFTER = re.compile(r"[\s,(]*(?:(?:before|after|of|the)\s+)*~", re.IGNORECASE)
"""A date, blanked out, next to a weekday: together they are one date."""

PRONOUNCED = _any(
    # Always relative: they point from the moment of speaking.
    rf"(?<!the )\b(?:last|next|this|coming|upcoming)\s+"
    rf"(?:{_SPAN}|{_PART_OF_DAY}|{_WEEKDAYS}|{_HOLIDAY})\b(?!\s+of\b)",
    r"\bthe (?:weekend|day|week|month|year) after next\b",
    r"\bon the \d{1,2}(?:st|nd|rd|th)\b(?=\s*(?:$|[.,;)]))",
    r"\bthe (?:day|week|month|year|weekend) before last\b",
    rf"\b{_NUMBER}\s+(?:{_SPAN}|(?:{_WEEKDAYS})s?|{_HOLIDAY}(?:e?s)?)\s+"
    r"(?:ago|back|from now|hence)\b",
    rf"\b\d+(?:[.,]\d+)?\s*{_SHORT_UNIT}\.?\s+ago\b",
    r"\b(?:a while|(?:not )?(?:so )?long|years|months|weeks|days|ages) ago\b",
    rf"\bin\s+(?:(?:about|around|roughly)\s+)?{_NUMBER}\s+(?:(?:to|or)\s+{_NUMBER}\s+)?"
    r"(?:days|weeks|months|years)\b(?!\s+of\b)",
    r"\bthe other (?:day|week|night)\b",
    r"\bearlier (?:today|this)\b|\blater (?:today|this)\b",
    r"\b(?:letzten|letzte[rms]?|nächste[nrms]?|diese[nrms]?|kommende[nrms]?)\s+"
    r"(?:Sommer|Winter|Herbst|Frühling|Frühjahr|Wochenende|Woche|Monat|Jahr)\b",
    rf"\bhace\s+{_AMOUNT}\b|\bdentro de\s+{_AMOUNT}\b",
    r"\b(?:el|la)\s+(?:próxim[oa]|pasad[oa])\s+(?:año|mes|semana|verano|invierno)\b",
    r"\b(?:el|la)\s+(?:año|mes|semana|verano|invierno|fin de semana)\s+"
    r"(?:pasad[oa]|próxim[oa]|que viene)\b",
    r"先日|先々週|再来週|再来年|一昨[日年]|明後日",
)
"""Relative whatever else the fact says."""

OPEN = _any(
    # Relative unless the fact has an absolute date: then a stranger can place them.
    r"\b(?:currently|nowadays|recently|lately|soon|shortly|presently|at present|at the moment|"
    r"right now|so far|these days|until now|a while back|recent)\b",
    rf"(?:\b(?:his|her|their|its)|['\u2019]s)\s+current\s+(?!affairs|events|accounts?\b)\w+|"
    rf"\bcurrent\s+{_OWN_NOW}\b",
    r"\bin the (?:near|immediate|foreseeable|(?:not (?:too|so) )?distant) future\b",
    r"\b(?:has|have|hasn't|haven't|not|never)\b[^.;]*?\bin\s+(?:weeks|months|years|decades|ages)\b"
    r"(?!\s+of\b)",
    r"\bjust (?:moved|started|began|got|became|turned|bought|lost|quit|left|finished|returned)\b",
    r"\b(?:over|during|in|for|at) the weekend\b",
    rf"\b(?:the|his|her|their)\s+(?:last|past|next|previous|following|coming|upcoming|current)\s+"
    rf"(?:{_NUMBER}\s+)?"
    rf"{_SPAN}\b(?!\s+of\b)",
    rf"\bwithin (?:a|the (?:last|past|next)) (?:{_NUMBER}\s+)?{_SPAN}\b",
    rf"\bthe {_SPAN} (?:before|after|following)\b",
    rf"\b{_NUMBER}\s+{_SPAN}\s+later\b|\blater in the (?:day|week|month|year)\b",
    r"\b(?:later|earlier) that (?:day|week|month|year|morning|evening|night)\b",
    r"\b(?:end|start|beginning|middle) of the (?:week|month|year|summer|winter)\b(?!\s+of\b)",
    r"\b(?:has|have|having|hasn't|haven't)\b[^.;]*?\b(?:for|over)\s+"
    r"(?:(?:about|over|nearly|almost|only|just|more than)\s+)?"
    rf"(?:{_AMOUNT}|weeks|months|years|decades)\b",
    rf"\b(?:is|are)\s+(?:(?:now|all|both|about)\s+)?{_NUMBER}\s+(?:years?|months?|weeks?)\s+old\b",
    rf"\bseit\s+{_AMOUNT}\b|\b(?:derzeit|zurzeit|kürzlich|neulich|bald|momentan|aktuell)\b",
    rf"\bdesde hace\s+{_AMOUNT}\b|\b(?:actualmente|recientemente|últimamente|pronto|hoy en día)\b",
    r"最近|現在|近々|もうすぐ|この頃",
)
"""Relative where the fact has no absolute date."""

NOW = re.compile(r"\W*(?:now|jetzt|ahora|今|現在)\W*", re.IGNORECASE)
"""What the library finds and an absolute date settles, as ``OPEN``."""
