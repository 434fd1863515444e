"""The rules for names of API types, their plurals, and how Python, the wire and CEL spell them.

Sources: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ (DNS-1123 subdomain and label,
RFC 1035 label); apimachinery's ``version.kubeVersionRegex`` for versions. The caller reports invalid names,
since it knows where the name came from.
"""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from functools import cache
from typing import NamedTuple

LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_RFC_1035_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_IMAGE_DOMAIN = (
    r"([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:]+\])(:[0-9]+)?"
)
_IMAGE_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"({_IMAGE_DOMAIN}/)?{_IMAGE_PART}(/{_IMAGE_PART})*(:[A-Za-z0-9_][-A-Za-z0-9_.]{{0,127}})?(@sha256:[0-9a-f]{{64}})?"
)
_IMAGE_LENGTH = 512
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")

PROTECTED_DOMAINS = ("k8s.io", "kubernetes.io")
"""Groups under these need the annotation ``api-approved.kubernetes.io`` on their CRDs (KEP-2337)."""

# What names must be, in words for messages. Their length has messages of its own.
A_DNS_LABEL = "a DNS label: lower case letters, digits and hyphens, a letter first"
A_DNS_NAME = "a DNS name: lower case letters, digits, hyphens and dots only"
A_VERSION = "an API version: the form is `v1`, `v1beta1` or `v2alpha3`"
A_KIND = "in PascalCase: letters and digits, an upper case letter first"


def is_label(text: str) -> bool:
    """Whether it is a DNS-1123 label: lower case letters, digits and inner hyphens, at most 63 characters."""
    return len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text) is not None


def is_rfc_1035_label(text: str) -> bool:
    """Whether it is a DNS-1035 label: a DNS-1123 label that begins with a letter."""
    return len(text) <= LABEL_LENGTH and _RFC_1035_LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether it is a DNS-1123 subdomain: labels joined by dots, at most 253 characters.

    As in apimachinery, the length of one label is not limited here.
    """
    return len(text) <= SUBDOMAIN_LENGTH and all(_LABEL.fullmatch(part) for part in text.split("."))


def is_label_value(text: str) -> bool:
    """Whether it is a label value: at most 63 letters, digits, ``-``, ``_`` and ``.``, no sign at the ends."""
    return len(text) <= LABEL_LENGTH and _LABEL_VALUE.fullmatch(text) is not None


def is_qualified_name(text: str) -> bool:
    """Whether it is a name of a label or annotation: like a label value, with an optional ``domain/`` prefix."""
    domain, slash, name = text.rpartition("/")
    return bool(name) and is_label_value(name) and (not slash or is_subdomain(domain))


def is_image(text: str) -> bool:
    """Whether it names a container image: ``memcached``, ``example.com/team/cache:1.6``, one with a digest.

    Source: https://pkg.go.dev/github.com/distribution/reference
    """
    return len(text) <= _IMAGE_LENGTH and _IMAGE.fullmatch(text) is not None


def is_version(text: str) -> bool:
    """Whether it is an API version that Kubernetes can order: ``v1``, ``v2beta1``, ``v1alpha3``."""
    return _VERSION.fullmatch(text) is not None and len(text) <= LABEL_LENGTH


def is_kind(text: str) -> bool:
    """Whether it is PascalCase, and in lower case a DNS-1035 label (apiserver's rule for kinds)."""
    return _KIND.fullmatch(text) is not None and len(text) <= LABEL_LENGTH


def is_module_name(text: str) -> bool:
    """Whether ``import <text>`` is valid Python, in ASCII."""
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text)


def is_protected_group(group: str) -> bool:
    """Whether CRDs of this API group need the approval of the Kubernetes project."""
    return any(group == domain or group.endswith(f".{domain}") for domain in PROTECTED_DOMAINS)


def is_standard_module(text: str) -> bool:
    """Whether Python's standard library has a module of this name."""
    return text in sys.stdlib_module_names


def hides_python_name(text: str) -> bool:
    """Whether a class of this name would hide a keyword or a builtin (``None``, ``Warning``)."""
    return keyword.iskeyword(text) or hasattr(builtins, text)


def is_yaml_word(text: str) -> bool:
    """Whether YAML 1.1 reads it, without quotes, as something other than text (``on``, ``null``).

    Numbers are not included, since the names checked here do not begin with a digit.
    """
    return text.lower() in _YAML_WORDS


def as_label(text: str) -> str:
    """The nearest DNS-1035 label, or an empty text when nothing is left of it.

    >>> as_label("My_Project 2"), as_label("1st"), as_label("!")
    ('my-project-2', 'st', '')
    """
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text) if text != text.upper() else text
    text = re.sub(r"[^a-z0-9]+", "-", text.lower())
    return re.sub(r"^[-0-9]+", "", text).strip("-")[:LABEL_LENGTH].rstrip("-")


def as_subdomain(text: str) -> str:
    """The nearest DNS-1123 subdomain, or an empty text.

    >>> as_subdomain("https://BAD_domain.io/")
    'bad-domain.io'
    """
    text = re.sub(r"^[a-z]+://", "", text.strip().lower())
    parts = (re.sub(r"[^a-z0-9]+", "-", part).strip("-") for part in text.split("."))
    return ".".join(part for part in parts if part)


def as_version(text: str) -> str:
    """The nearest API version, or an empty text.

    >>> as_version("1"), as_version("V1-Alpha.2"), as_version("v1.2"), as_version("banana")
    ('v1', 'v1alpha2', 'v1', '')
    """
    match = re.match(r"v?0*([1-9][0-9]*)[-_.]?(?:(alpha|beta)[-_.]?0*([1-9][0-9]*)?)?", text.lower())
    if not match:
        return ""
    major, stage, minor = match.groups()
    return f"v{major}" + (f"{stage}{minor or 1}" if stage else "")


def as_kind(text: str) -> str:
    """The nearest PascalCase name, or an empty text.

    >>> as_kind("foo-bar"), as_kind("virtulMachine"), as_kind("3d_model")
    ('FooBar', 'VirtulMachine', 'DModel')
    """
    parts = re.split(r"[^A-Za-z0-9]+", re.sub(r"^[^A-Za-z]+", "", text))
    return "".join(part[:1].upper() + part[1:] for part in parts)[:LABEL_LENGTH]


def as_module_name(text: str) -> str:
    """A label or subdomain as the name of a Python module.

    >>> as_module_name("my-project"), as_module_name("a.b"), as_module_name("import"), as_module_name("3d")
    ('my_project', 'a_b', 'import_', '_3d')
    """
    name = re.sub(r"[^a-z0-9_]", "_", text.lower())
    if name[:1].isdigit():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


_WORD = re.compile(
    r"""
    [A-Z]+s(?=[A-Z]|$)      # a plural acronym: IPs, CIDRs, URLs
    | [A-Z]+(?=[A-Z][a-z])  # an acronym before a word: the HTTP of HTTPGet
    | [A-Z]?[a-z0-9]+       # a word
    | [A-Z]+[0-9]*          # an acronym at the end: hostIP
    | [0-9]+
    """,
    re.VERBOSE,
)


def to_camel(attribute: str) -> str:
    """Return the wire name of an attribute that has no ``Wire`` annotation.

    A trailing underscore is dropped. It distinguishes an attribute from a keyword or a method.

    >>> to_camel("service_account_name"), to_camel("from_"), to_camel("ipv4_cidr")
    ('serviceAccountName', 'from', 'ipv4Cidr')
    """
    first, *rest = attribute.rstrip("_").split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def to_snake(wire_name: str) -> str:
    """Return the usual attribute name for a wire name. ``to_camel`` does not always reverse it.

    >>> to_snake("serviceAccountName"), to_snake("podIPs"), to_snake("httpGet"), to_snake("x-kubernetes-list-type")
    ('service_account_name', 'pod_ips', 'http_get', 'x_kubernetes_list_type')
    """
    return "_".join(words(wire_name)).lower()


def words(wire_name: str) -> list[str]:
    """Split a name into its words. Their case is kept.

    >>> words("hostIPs"), words("x-kubernetes")
    (['host', 'IPs'], ['x', 'kubernetes'])
    """
    return _WORD.findall(wire_name)


# Reserved words of CEL and of languages that it may be translated to. None can be a name.
CEL_RESERVED = frozenset(
    [
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    ],
)
CEL_WORDS = CEL_RESERVED | {"true", "false", "null", "in"}
CEL_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def cel_selector(name: str) -> str:
    """A field's name in CEL. Reserved words, and characters not allowed in identifiers, are escaped.

    Source: https://kubernetes.io/docs/reference/using-api/cel/#escaping.

    >>> cel_selector("replicas"), cel_selector("namespace"), cel_selector("a-b")
    ('replicas', '__namespace__', 'a__dash__b')
    """
    if name in CEL_WORDS:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda match: CEL_ESCAPES[match[0]], name)


def cel_text(text: str) -> str:
    """A text as a CEL literal: in single quotes, with quotes and backslashes escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# Plural names of kinds, exactly as controller-gen forms them.
#
# controller-gen calls `flect.Pluralize(Kind)` (gobuffalo/flect v1.0.3, MIT licence, whose word tables these are) and
# lower-cases the result. The rules are those of English, with mistakes (`octupuses` for `octopuses`). They are kept,
# since a plural is part of the API: it is in URLs, RBAC rules and file names, and can never change.


class _Word(NamedTuple):
    singular: str
    plural: str
    alternative: str = ""
    whole_only: bool = False  # never used as a suffix
    plurals_known: bool = True  # a word that is already its plural does not change


# One entry: `singular plural [alternative]`. `!` after the singular means whole word only. `*` after the plural
# means that neither plural is recognised as one. A lone word does not change.
_DICTIONARY = """
aircraft; beef beef beefs; bison; blues blues*; chassis; deer; fish fish fishes; moose; police; salmon salmon salmons;
series; sheep; shrimp shrimp shrimps; species; swine swine swines; trout trout trouts; tuna tuna tunas; you;
child children; ox! oxen; foot feet; goose geese; man men; human humans; louse! lice; mouse mice; tooth teeth;
woman women; die! dice; person people; adieu adieux adieus; fabliau fabliaux; bureau bureaus bureaux;
criterion criteria; ganglion ganglia ganglions; lexicon lexica lexicons; mitochondrion mitochondria mitochondrions;
noumenon noumena; phenomenon phenomena; taxon taxa; media; medium media* mediums; stadium stadiums stadia;
aquarium aquaria aquariums; auditorium auditoria auditoriums; symposium symposia symposiums;
curriculum curriculums curricula; quota quotas; alumnus alumni alumnuses; bacillus bacilli; cactus cacti cactuses;
coccus cocci; focus foci focuses; locus loci locuses; nucleus nuclei nucleuses; octopus octupuses octopi;
radius radii radiuses; syllabus syllabi; corpus corpora corpuses; genus genera; alumna alumnae; vertebra vertebrae;
differentia differentiae; minutia minutiae; vita vitae; larva larvae; postcava postcavae; praecava praecavae; uva uvae;
apex apices apexes; codex codices codexes; index indices indexes; latex latices latexes; vertex vertices vertexes;
vortex vortices vortexes; appendix appendices appendixes; radix radices radixes; helix helices helixes; axis! axes;
crisis crises; ellipsis ellipses*; genesis geneses; oasis oases; thesis theses; testis testes; base bases;
basis bases*; alias! aliases; vedalia vedalias; use! uses; abuse abuses; cause causes; clause clauses; cruse cruses;
excuse excuses; fuse fuses; house houses; misuse misuses; muse muses; pause pauses; ache aches; topaz topazes;
buffalo buffaloes buffalos; potato potatoes; tomato tomatoes; equipment; information; jeans; money; news; rice;
dwarf dwarfs dwarves; hoof hoofs hooves; thief thieves; chive chives; hive hives; move moves; movie movies;
cookie cookies; pretorium pretoriums; agenda agendas; formula formulas formulae; shoe shoes; toe! toes; graffiti;
ID! IDs
"""

# Singular and plural endings, tried in this order.
_SUFFIXES = """
tive tives; eaf eaves; oaf oaves; afe aves; arf arves; rfe rves; rf rves; lf lves; fe ves;
ay ays; ey eys; oy oys; quy quies; uy uys; y ies;
eau eaux; bula bulae; dula bulae; lula bulae; nula bulae; vula bulae;
hedron hedra; ium ia; seum seums; eum ea; oum oa; stracum straca; dum da; elum ela; ilum ila; olum ola; ulum ula;
llum lla; ylum yla; imum ima; ernum erna; gnum gna; brum bra; crum cra; terum tera; serum sera; trum tra; antum anta;
atum ata; entum enta; etum eta; itum ita; otum ota; utum uta; ctum cta; ovum ova;
trix trices; iasis iases; mesis meses; kinesis kineses; resis reses; gnosis gnoses; opsis opses; ysis yses;
ouse ouses; lause lauses; us uses; ch ches; io ios; sh shes; ss sses; ez ezzes; iz izzes; tz tzes; zz zzes; ano anos;
lo los; to tos; oo oos; o oes; x xes; S Ses
"""

_ACRONYMS = frozenset(  # looked up in upper case, so entries with lower case never match
    """
    OK UTF8 HTML JSON JWT ID UUID SQL ACK ACL ADSL AES ANSI API ARP ATM BGP BSS CCITT CHAP CIDR CIR CLI CPE CPU CRC CRT
    CSMA CMOS DCE DEC DES DHCP DNS DRAM DSL DSLAM DTE DMI EHA EIA EIGRP EOF ESS FCC FCS FDDI FTP GBIC gbps GEPOF HDLC
    HTTP HTTPS IANA ICMP IDF IDS IEEE IETF IMAP IP IPS ISDN ISP kbps LACP LAN LAPB LAPF LLC MAC Mbps MC MDF MIB MoCA
    MPLS MTU NAC NAT NBMA NIC NRZ NRZI NVRAM OSI OSPF OUI PAP PAT PC PIM PCM PDU POP3 POTS PPP PPTP PTT PVST RAM RARP
    RFC RIP RLL ROM RSTP RTP RCP SDLC SFD SFP SLARP SLIP SMTP SNA SNAP SNMP SOF SRAM SSH SSID STP SYN TDM TFTP TIA TOFU
    UDP URL URI USB UTP VC VLAN VLSM VPN W3C WAN WEP WiFi WPA WWW
    """.split()  # noqa: SIM905 - a list of 200 quoted words would be no easier to read
)

_SEPARATORS = "_:-/ "


class _Tables(NamedTuple):
    plural_of: dict[str, str]
    plurals: frozenset[str]
    suffixes: tuple[tuple[str, str], ...]


@cache
def _tables() -> _Tables:
    words = [_read_word(entry.split()) for entry in _DICTIONARY.replace("\n", " ").split(";")]
    plurals: set[str] = set()
    for word in words:
        if word.plurals_known:
            plurals |= {word.plural, word.alternative} - {""}
    # Dictionary words are also endings, tried from the last to the first. Then the table of endings, in order.
    endings = [(w.singular, w.plural) for w in reversed(words) if not w.whole_only]
    endings += [(e.split()[0], e.split()[1]) for e in _SUFFIXES.replace("\n", " ").split(";")]
    return _Tables({w.singular: w.plural for w in words}, frozenset(plurals), tuple(endings))


def _read_word(parts: list[str]) -> _Word:
    singular = parts[0].removesuffix("!")
    plural = parts[1] if len(parts) > 1 else singular
    return _Word(
        singular=singular,
        plural=plural.removesuffix("*"),
        alternative=parts[2] if len(parts) > 2 else "",
        whole_only=parts[0].endswith("!"),
        plurals_known=not plural.endswith("*"),
    )


def pluralize(kind: str) -> str:
    """The default plural of a kind, lower case.

    >>> pluralize("VirtulMachine"), pluralize("NetworkPolicy"), pluralize("Redis"), pluralize("DNS")
    ('virtulmachines', 'networkpolicies', 'redis', 'dnses')
    """
    return _inflect(kind).lower()


def undoubled(kind: str) -> str:
    """The default plural without a doubled acronym. flect doubles some acronyms that are not in upper case.

    >>> undoubled("Dns"), undoubled("PublicIps"), undoubled("Vpn")
    ('dnses', 'publicipses', 'vpns')
    """
    plural, part = pluralize(kind), _last_part(kind)
    if plural.startswith(kind.lower() + part.lower()):
        return pluralize(kind[: -len(part)] + part)
    return plural


def _inflect(word: str) -> str:
    tables = _tables()
    if word in tables.plural_of:
        return tables.plural_of[word]
    if word in tables.plurals:
        return word
    part = _last_part(word)
    lower = part.lower()
    if lower in tables.plurals:
        return word
    if lower in tables.plural_of:
        plural = tables.plural_of[lower]
        return _swap_ending(word, part, plural[:1].upper() + plural[1:] if part[:1].isupper() else plural)
    for singular_ending, plural_ending in tables.suffixes:
        if part.endswith(plural_ending):
            return word
        if part.endswith(singular_ending):
            return _swap_ending(word, part, part.removesuffix(singular_ending) + plural_ending)
    return word if lower.endswith("s") else word + "s"


def _swap_ending(word: str, part: str, replacement: str) -> str:
    return word.removesuffix(part) + replacement


def _last_part(word: str) -> str:
    """The last word of a name such as ``HTTPRoute``. Only this word is inflected."""
    if word.upper() in _ACRONYMS:
        return word.upper()
    parts: list[str] = []
    current = ""
    previous = ""
    for char in word:
        starts = char in _SEPARATORS or (char.isupper() and (not previous.isupper() or current.upper() in _ACRONYMS))
        if starts and current:
            parts.append(current)
            current = ""
        previous = char
        if char not in _SEPARATORS:
            current += char
    if current:
        parts.append(current)
    last = parts[-1] if parts else word
    return last.upper() if last.upper() in _ACRONYMS else last
