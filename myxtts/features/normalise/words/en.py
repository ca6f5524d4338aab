"""English words: months, coins, measures, abbreviations. A noun is its gender and its forms, the singular first."""

from __future__ import annotations

from myxtts.features.normalise.counting import listed

MONTHS = tuple(listed("January February March April May June July August September October November December"))
SHORT_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Sept": 9, "Oct": 10, "Nov": 11,
    "Dec": 12,
}  # fmt: skip
SYMBOLS = {
    "&": "and", "+": "plus", "=": "equals", "×": "times", "÷": "divided by", "±": "plus or minus",
    "≈": "approximately", "≠": "is not equal to", "≤": "less than or equal to", "≥": "greater than or equal to",
    "<": "less than", ">": "greater than", "∞": "infinity", "√": "square root of", "%": "percent", "‰": "per mille",
    "°": "degrees", "§": "section", "©": "copyright", "®": "registered", "™": "trademark", "№": "number",
    "#": "number", "@": "at", "/": "slash", "²": "squared", "³": "cubed", "µ": "micro", "→": "to", "$": "dollars",
    "€": "euros", "£": "pounds", "¥": "yen", "¢": "cents", "₹": "rupees", "₽": "rubles", "~": "about",
}  # fmt: skip
IN_ADDRESS = {
    ".": "dot", "@": "at", "/": "slash", "-": "dash", "_": "underscore", ":": "colon", "?": "question mark",
    "=": "equals", "&": "and", "#": "hash", "%": "percent", "+": "plus", "~": "tilde",
}  # fmt: skip
CURRENCIES = {
    "USD": "|dollar|dollars;|cent|cents", "EUR": "|euro|euros;|cent|cents", "GBP": "|pound|pounds;|penny|pence",
    "JPY": "|yen", "RUB": "|ruble|rubles;|kopeck|kopecks", "INR": "|rupee|rupees;|paisa|paise", "CNY": "|yuan",
    "CHF": "|Swiss franc|Swiss francs;|centime|centimes", "TRY": "|lira|lira", "UAH": "|hryvnia|hryvnias",
    "KRW": "|won", "ILS": "|shekel|shekels", "BTC": "|bitcoin|bitcoins", "BRL": "|real|reais",
    "CAD": "|Canadian dollar|Canadian dollars;|cent|cents", "PLN": "|zloty|zlotys",
    "AUD": "|Australian dollar|Australian dollars;|cent|cents", "SEK": "|krona|kronor", "IRR": "|rial|rials",
    "CENT": "|cent|cents", "PENNY": "|penny|pence",
}  # fmt: skip
SIGNS = {
    "¢": "CENT",
}  # fmt: skip
SCALES = {
    "million": "|million", "billion": "|billion", "trillion": "|trillion", "thousand": "|thousand", "M": "|million",
    "bn": "|billion", "B": "|billion", "k": "|thousand", "K": "|thousand", "m": "|million", "mn": "|million",
    "tn": "|trillion", "T": "|trillion", "hundred": "|hundred",
}  # fmt: skip
UNITS = {
    "%": "|percent", "‰": "|per mille", "°C": "|degree Celsius|degrees Celsius",
    "℃": "|degree Celsius|degrees Celsius", "°F": "|degree Fahrenheit|degrees Fahrenheit",
    "℉": "|degree Fahrenheit|degrees Fahrenheit", "°": "|degree|degrees", "K": "|K", "mm": "|millimeter|millimeters",
    "cm": "|centimeter|centimeters", "m": "|meter|meters", "km": "|kilometer|kilometers",
    "µm": "|micrometer|micrometers", "nm": "|nanometer|nanometers", "mm²": "|square millimeter|square millimeters",
    "cm²": "|square centimeter|square centimeters", "m²": "|square meter|square meters",
    "km²": "|square kilometer|square kilometers", "m2": "|square meter|square meters",
    "km2": "|square kilometer|square kilometers", "cm³": "|cubic centimeter|cubic centimeters",
    "m³": "|cubic meter|cubic meters", "ha": "|hectare|hectares", "mg": "|milligram|milligrams", "g": "|gram|grams",
    "kg": "|kilogram|kilograms", "t": "|ton|tons", "µg": "|microgram|micrograms", "lb": "|pound|pounds",
    "lbs": "|pound|pounds", "oz": "|ounce|ounces", "ft": "|foot|feet", "yd": "|yard|yards", "mi": "|mile|miles",
    "mph": "|mile per hour|miles per hour", "km/h": "|kilometer per hour|kilometers per hour",
    "kmh": "|kilometer per hour|kilometers per hour", "kph": "|kilometer per hour|kilometers per hour",
    "m/s": "|meter per second|meters per second", "mpg": "|mile per gallon|miles per gallon",
    "ml": "|milliliter|milliliters", "mL": "|milliliter|milliliters", "cl": "|centiliter|centiliters",
    "l": "|liter|liters", "L": "|liter|liters", "gal": "|gallon|gallons", "ms": "|millisecond|milliseconds",
    "s": "|second|seconds", "sec": "|second|seconds", "min": "|minute|minutes", "mins": "|minute|minutes",
    "h": "|hour|hours", "hr": "|hour|hours", "hrs": "|hour|hours", "yrs": "|year|years", "Hz": "|hertz",
    "kHz": "|kilohertz", "MHz": "|megahertz", "GHz": "|gigahertz", "kB": "|kilobyte|kilobytes",
    "KB": "|kilobyte|kilobytes", "MB": "|megabyte|megabytes", "GB": "|gigabyte|gigabytes",
    "TB": "|terabyte|terabytes", "Mbps": "|megabit per second|megabits per second",
    "Gbps": "|gigabit per second|gigabits per second", "Mbit/s": "|megabit per second|megabits per second",
    "W": "|watt|watts", "kW": "|kilowatt|kilowatts", "MW": "|megawatt|megawatts",
    "kWh": "|kilowatt hour|kilowatt hours", "V": "|volt|volts", "mA": "|milliamp|milliamps",
    "mAh": "|milliamp hour|milliamp hours", "Ω": "|ohm|ohms", "kΩ": "|kilohm|kilohms", "Pa": "|pascal|pascals",
    "hPa": "|hectopascal|hectopascals", "bar": "|bar|bars", "psi": "|P S I", "cal": "|calorie|calories",
    "kcal": "|kilocalorie|kilocalories", "kJ": "|kilojoule|kilojoules", "dB": "|decibel|decibels",
    "px": "|pixel|pixels", "rpm": "|revolution per minute|revolutions per minute",
    "bpm": "|beat per minute|beats per minute", "fps": "|frame per second|frames per second", "dpi": "|D P I",
    "hp": "|horsepower",
}  # fmt: skip
SHORTENED = {
    "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Dr.": "Doctor", "Prof.": "Professor", "Jr.": "Junior.",
    "Sr.": "Senior.", "Rev.": "Reverend", "Gen.": "General", "Col.": "Colonel", "Capt.": "Captain",
    "Lt.": "Lieutenant", "Sgt.": "Sergeant", "Gov.": "Governor", "Sen.": "Senator", "Rep.": "Representative",
    "Pres.": "President", "Hon.": "Honorable", "Mt.": "Mount", "Ft.": "Fort", "Ave.": "Avenue.",
    "Blvd.": "Boulevard.", "Rd.": "Road.", "Dept.": "Department", "dept.": "department", "Inc.": "Incorporated.",
    "Ltd.": "Limited.", "Corp.": "Corporation.", "Co.": "Company.", "Bros.": "Brothers.", "etc.": "et cetera.",
    "e.g.": "for example", "i.e.": "that is", "vs.": "versus", "vs": "versus", "approx.": "approximately",
    "est.": "established", "min.": "minutes", "max.": "maximum", "hrs.": "hours.", "a.m.": "A M.", "p.m.": "P M.",
    "A.M.": "A M.", "P.M.": "P M.", "a.k.a.": "also known as", "aka": "also known as", "w/o": "without",
    "cf.": "compare", "et al.": "et al.", "U.S.": "U S.", "U.K.": "U K.", "U.N.": "U N.", "U.S.A.": "U S A.",
    "D.C.": "D C.", "Ph.D.": "P H D.", "B.C.": "B C.", "A.D.": "A D.", "PhD": "P H D", "Jan.": "January",
    "Feb.": "February", "Aug.": "August", "Sept.": "September", "Oct.": "October", "Nov.": "November",
    "Dec.": "December", "and/or": "and or", "Mr": "Mister", "Mrs": "Missus", "Dr": "Doctor", "Ms": "Miz",
    "R.S.V.P.": "R S V P.", "ASAP": "A S A P", "FAQ": "F A Q", "P.S.": "P S", "c/o": "care of",
    "avg.": "average", "pts.": "points", "acct.": "account", "ref.": "reference", "AT&T": "A T and T",
    "WWII": "World War Two", "WWI": "World War One", "WW2": "World War Two", "WW1": "World War One",
}  # fmt: skip
BEFORE_NUMBERS = {
    "No.": "number", "no.": "number", "Nos.": "numbers", "p.": "page", "pp.": "pages", "vol.": "volume",
    "Vol.": "volume", "ch.": "chapter", "Ch.": "chapter", "fig.": "figure", "Fig.": "figure", "sec.": "section",
    "Sec.": "section", "art.": "article", "Art.": "article", "ca.": "circa", "c.": "circa", "Apt.": "apartment",
    "apt.": "apartment", "ext.": "extension", "Rm.": "room", "eq.": "equation", "#": "number",
}  # fmt: skip
