"""Mandarin Chinese: 两 before measure words, years and telephone numbers figure by figure, no spaces."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import Number, spell
from myxtts.features.normalise.language import Language
from myxtts.features.normalise.reader import DIGITS, Match, Noun, RuleParts
from myxtts.features.normalise.words import zh as words

_DIGITS = "零一二三四五六七八九"
_ON_PHONE = _DIGITS.replace("一", "幺")
_HAN = "\u4e00-\u9fff"
_MEASURES = (
    "个|只|条|张|本|位|次|天|周|年|小时|分钟|秒|公里|千米|公斤|千克|米|元|块|岁|人|名|件|台|辆|家|所|座|棵|杯|瓶|碗|盒|双|对|星期|种|斤|里|倍|层|"
    "场|遍|门|篇|首|把|根|头|匹|部|架|艘|颗|朵|片|支|枝|份|套|组|排|间|栋|顿|口|句|段|步|点|万|亿|千|百|代|克|升|毫升|厘米|毫米|平方米|吨|英镑|美元|欧元|日元|刻|半|样|项|批|届|轮|秒钟|多"
)
_OURS = "A-Za-z0-9$¥€£+%℃°@#&-"
_TOUCHING = re.compile(
    rf"(?<=[{_HAN}])(?=[{_OURS}])|(?<=[{_OURS}²³])(?=[{_HAN}])"
)  # so that a number is a word of its own
_LIST_COMMA = re.compile(r",(?!\d{3}(?!\d))|(?<!\d),|、")
_BETWEEN = re.compile(rf"(?<=[{_HAN}]) +(?=[{_HAN},.!?;:])|(?<=[,.!?;:]) +(?=[{_HAN}])")

_AFTER_SCORES = "获胜|战胜|击败|胜|负|战平|大胜|逆转|领先|落后|不敌|力克|险胜"
_NAMED_BY_DIGITS = (
    "QQ ?号|微信号|手机号|身份证号|订单号|单号|尾号|邮编|编号|车牌|航班|"
    "密码|验证码|学号|账号|卡号|邮政编码|号码|代码|股票代码|工号|房号|门牌"
)


class Chinese(Language):
    code = "zh"
    minus, point, cents_and, to, slash, hashtag = "负", "点", "", "到", "斜杠", "话题"
    less, plus = "减", "正"
    by, per, power = "乘", "每", "的幂"
    calls = "电话|手机|手机号|号码|拨打|致电|热线|传真|座机|报警|拨"
    symbols, in_address, currencies, signs = words.SYMBOLS, words.IN_ADDRESS, words.CURRENCIES, words.SIGNS
    scales, units, shortened, before_numbers = words.SCALES, words.UNITS, words.SHORTENED, words.BEFORE_NUMBERS

    def __call__(self, text: str) -> str:
        text = _LIST_COMMA.sub(", ", text.replace("〇", "零"))
        said = super().__call__(_TOUCHING.sub(" ", text))
        return _BETWEEN.sub("", said)

    def count(self, value: int, gender: str = "") -> str:
        """`gender` is 'two' before a measure word."""
        if value == 2 and gender:
            return "两"
        said = spell(value, self.code, "cardinal-alternate2" if value >= 1000 else "cardinal")
        return said[1:] if said.startswith("一十") else said

    def cardinal(self, digits: str, gender: str = "") -> str:
        return self.digits(digits) if len(digits) > 1 and digits[0] == "0" else super().cardinal(digits, gender)

    def digits(self, digits: str) -> str:
        return "".join(_DIGITS[int(digit)] for digit in digits)

    def gender_of(self, match: Match) -> str:
        rest = match.string[match.end() :].lstrip()
        ordinal = match.string[: match.start()].rstrip().endswith(("第", "初", "星期", "周", "礼拜"))
        month = rest.startswith(("月", "日", "号", "楼"))
        return "two" if not ordinal and not month and re.match(_MEASURES, rest) else ""

    def say(self, number: Number, gender: str = "") -> str:
        return super().say(number, gender).replace(" ", "")

    def say_decimals(self, whole: str, number: Number) -> str:
        return f"{whole}点{self.digits(number.decimals)}"

    # ---- dates and times ----

    def find_dates(self) -> list[RuleParts]:
        years = r"(?<![\d.])(?P<from>\d{4}) ?(?:[-—~至到]) ?(?P<to>\d{4})(?= ?年)"
        return [
            ("年", years, lambda m: f"{self.digits(m['from'])}到{self.digits(m['to'])}"),
            ("-—", r"(?<=\()(1\d{3}|20\d\d) ?[-—] ?(1\d{3}|20\d\d)(?=\))", self._years),
            ("年", r"(?<![\d.])(\d{4}|(?<!\d)[789]\d)(?= ?年(?!前|后|来|间|代|的历史))", lambda m: self.digits(m[1])),
            ("年", r"(?<![\d.])((?:19|20)\d\d)(?= ?年)", lambda m: self.digits(m[1])),
            ("代", r"(?<![\d.])(\d0)(?= ?年代)", lambda m: self.count(int(m[1]))),
            ("后", r"(?<![\d.])([05-9][05])(?= ?后(?!来|面))", lambda m: self.digits(m[1])),
            (
                "年",
                r"(?<![\d.])(\d{3})(?= ?年(?!前|后|来|间|代|的历史))",
                lambda m: self.digits(m[1]) if m[1][1:] != "00" else m[1],
            ),
            (
                DIGITS,
                rf"(?P<lead>(?:{_NAMED_BY_DIGITS}|[A-Z]+)[:是为]? ?)(?P<number>\d{{3,}})(?![\d.%])",
                self._one_by_one,
            ),
            (DIGITS, r"(?<![\d.])(\d{3,4})(?= ?(?:房|室|宿舍|教室))", lambda m: self.digits(m[1])),
            (
                DIGITS,
                r"(?<![\d.])(\d{3,8})(?= ?(?:热线|急救|报警|客服|电话|专线))",
                lambda m: self.say_phone([m[1]]),
            ),
            (DIGITS, r"(?<=[打警话线拨救急]) (\d{3,6})(?! ?[\d.:年个元人-])", lambda m: self.say_phone([m[1]])),
            ("月日号", r"(?<!\d)0(\d)(?= ?[月日号])", lambda m: m[1]),
            *super().find_dates(),
        ]

    def _years(self, match: Match) -> str:
        """'(1939-1945)'"""
        return f"{self.digits(match[1])}到{self.digits(match[2])}"

    def _one_by_one(self, match: Match) -> str:
        return f"{match['lead']}{self.digits(match['number'])}"

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        said = f"{self.count(month)}月{self.count(day)}日"
        return f"{self.digits(str(year))}年{said}" if year else said

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = f"{self.count(hour, 'two')}点"
        if minute or second is not None:
            said += f"{'零' if 0 < minute < 10 else ''}{self.count(minute)}分"
        return said if second is None else f"{said}{'零' if 0 < second < 10 else ''}{self.count(second)}秒"

    # ---- amounts ----

    def find_own(self) -> list[RuleParts]:
        number = self.number
        return [
            (
                "%",
                rf"(?P<number>{number})% ?(?:[-—~到至]) ?(?=\d+(?:\.\d+)?%)",
                lambda m: f"{self._percent(m['number'], '')}到",
            ),
            (
                "%",
                rf"(?P<number>{number}) ?(?:[-—~]) ?(?P<end>{number})%",
                lambda m: f"百分之{self.say(self.parse(m['number']))}到{self.say(self.parse(m['end']))}",
            ),
            (
                "%",
                rf"(?:(?<![\w)])(?P<sign>[-+]))?(?P<number>{number}) ?%",
                lambda m: self._percent(m["number"], m["sign"] or ""),
            ),
            ("‰", rf"(?P<number>{number}) ?‰", lambda m: f"千分之{self.say(self.parse(m['number']))}"),
            (
                "/",
                rf"(?P<number>{number}) ?(?:km|公里|千米)/h",
                lambda m: f"每小时{self.say(self.parse(m['number']), 'two')}公里",
            ),
            ("-", rf"(?<![\d.\w])-(?P<number>{number}) ?(?P<unit>℃|°C|度(?!数)|摄氏度)", self._below_zero),
            (
                ":",
                r"(?<![\d.:])(\d{1,3}):(\d{1,3})(?![\d:])",
                lambda m: f"{self.count(int(m[1]))}比{self.count(int(m[2]))}",
            ),
            (
                "-",
                rf"(?<![\d.:-])(\d{{1,3}}) ?- ?(\d{{1,3}})(?= ?(?:{_AFTER_SCORES}))",
                lambda m: f"{self.count(int(m[1]))}比{self.count(int(m[2]))}",
            ),
            (DIGITS, r"(?<=第 )(?P<number>\d+)", lambda m: self.cardinal(m["number"])),
            ("~—-", rf"(?<![\w.,:/+-])(?P<number>{number}) ?(?:[-—~]) ?(?={number})", self._to),
        ]

    def _to(self, match: Match) -> str:
        if "-" in match[0] and "=" in match.string:
            return f"{self.say(self.parse(match['number']))}减"
        return f"{self.say(self.parse(match['number']), 'two')}到 "  # apart, so that '5-10km' leaves a measure

    def _percent(self, number: str, sign: str) -> str:
        lead = {"-": "负", "+": "正"}.get(sign, "")
        return f"{lead}百分之{self.say(self.parse(number))}"

    def _below_zero(self, match: Match) -> str:
        unit = "度" if match["unit"] == "度" else "摄氏度"
        return f"零下{self.say(self.parse(match['number']), '')}{unit}"

    def say_count(self, number: Number, unit: Noun) -> str:
        two = "two" if re.match(_MEASURES, unit.forms[0]) else ""
        return f"{self.say(number, two)}{unit.forms[0]}"

    def _money(self, match: Match) -> str:
        """'五点五元', not '五点五零元'."""
        return re.sub(r"(点[零一二三四五六七八九]*?)零+(?![零一二三四五六七八九])", r"\1", super()._money(match))

    def scaled_money(self, number: Number, scale: Noun, major: Noun) -> str:
        return f"{self.say_count(number, scale)}{major.forms[0]}"

    def say_fraction(self, above: int, below: int) -> str:
        return f"{self.count(below)}分之{self.count(above)}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{self.count(whole)}又{fraction}"

    # ---- telephone numbers ----

    phone = (
        r"(?<![\w.,/+-])(?:\+?86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)"
        r"|(?<![\d.,/+-])(?:0\d{2,3}[ -]\d{7,8}|[48]00[ -]\d{3,4}[ -]\d{3,4})(?!\d)"
        r"|(?<![\w.,/+-])\+\d{1,3}(?:[ -]\(?\d{1,5}\)?){2,5}"
    )

    def say_phone(self, groups: list[str]) -> str:
        return "，".join("".join(_ON_PHONE[int(digit)] for digit in group) for group in groups)

    def say_digits_in_address(self, digits: str) -> str:
        return self.digits(digits)


def make(language: str) -> Chinese:
    return Chinese()
