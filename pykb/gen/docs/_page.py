"""The frame of the HTML page: markup, style, and the few lines of script behind its search field."""

from __future__ import annotations

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><h1>$title</h1></header>
<nav aria-label="Contents">
<label for="search" class="hidden">Search kinds, types and fields</label>
<input id="search" type="search" placeholder="Search kinds, types, fields" autocomplete="off" hidden>
<p id="found" role="status" class="hidden"></p>
$contents
</nav>
<main id="content" tabindex="-1">
$body
</main>
<script>
$script</script>
</body>
</html>
"""

STYLE = """\
:root {
  --back: #fff; --soft: #f5f6f8; --line: #d9dde3; --text: #1c2128; --dim: #57606a; --link: #0b57b5;
  --required: #a6261b; --warn-back: #fff4d6; --warn-line: #b98900;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171c; --soft: #1d2128; --line: #363c46; --text: #e3e7ec; --dim: #a3acb8; --link: #7db7ff;
    --required: #ff9a8d; --warn-back: #33290f; --warn-line: #d9a928;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0 auto; max-width: 90rem; display: grid; grid-template: auto 1fr / 17rem minmax(0, 1fr); column-gap: 2.5rem;
  padding: 0 1.5rem 4rem; background: var(--back); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: anywhere;
}
header { grid-column: 1 / -1; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.6rem; margin: 1.2rem 0 1rem; }
nav {
  position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 1.25rem .5rem 2rem 0;
  font-size: .92rem;
}
nav h2 { font-size: .92rem; margin: 1.25rem 0 .3rem; overflow-wrap: anywhere; }
nav ul { list-style: none; margin: 0; padding: 0 0 0 .6rem; border-left: 1px solid var(--line); }
nav li { padding: .12rem 0; overflow-wrap: anywhere; }
nav li.kind { font-weight: 600; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
input {
  width: 100%; padding: .45rem .6rem; font: inherit; color: inherit; background: var(--soft);
  border: 1px solid var(--line); border-radius: .4rem;
}
main { padding-top: .25rem; outline: none; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.version > h2 { font-size: 1.3rem; margin: 1.5rem 0 0; }
.entry { border-top: 1px solid var(--line); margin-top: 1.5rem; padding-top: .5rem; }
.version > h2 + .entry { border-top: 0; margin-top: .25rem; }
h3 { font-size: 1.15rem; margin: .8rem 0 .4rem; overflow-wrap: anywhere; }
h3 small { font-weight: 400; font-size: .8rem; color: var(--dim); margin-left: .3rem; }
h4 { font-size: 1rem; margin: 1.1rem 0 .4rem; }
.anchor { margin-left: .5rem; text-decoration: none; color: var(--dim); opacity: 0; }
.entry:hover .anchor, .anchor:focus { opacity: 1; }
p { margin: .4rem 0; }
.used, .default { color: var(--dim); font-size: .92rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.2rem; margin: .7rem 0; font-size: .95rem; }
.facts dt { color: var(--dim); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem .8rem .5rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--dim); font-weight: 500; font-size: .85rem; padding-top: 0; }
tbody th { width: 14rem; font-weight: 600; }
td.type { width: 13rem; min-width: 7rem; overflow-wrap: anywhere; }
td ul, td ol, article > ul, article > ol { margin: .4rem 0; padding-left: 1.4rem; }
td p:first-child { margin-top: 0; }
.required { color: var(--required); font-size: .82rem; font-weight: 500; }
.constraints, .rules { margin: .3rem 0; padding-left: 1.1rem; color: var(--dim); font-size: .92rem; }
.constraints li, .rules li { overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace; font-size: .9em; }
:not(pre) > code { background: var(--soft); padding: .1em .3em; border-radius: .25em; overflow-wrap: anywhere; }
tbody th { min-width: 8rem; }
th code { background: none !important; padding: 0 !important; overflow-wrap: anywhere; }
pre {
  background: var(--soft); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem 1rem; overflow-x: auto;
  line-height: 1.45;
}
.warning { background: var(--warn-back); border-left: 4px solid var(--warn-line); padding: .45rem .8rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--back); padding: .5rem; z-index: 1; }
[hidden] { display: none !important; }
@media (max-width: 60rem) {
  body { display: block; padding: 0 1rem 3rem; }
  nav { position: static; max-height: none; border-bottom: 1px solid var(--line); }
  tbody th, td.type { width: auto; min-width: 5rem; }
}
@media (max-width: 40rem) {
  h1 { font-size: 1.35rem; }
  .facts { grid-template-columns: minmax(0, 1fr); }
  .facts dd { margin-bottom: .3rem; }
  table, tbody, tr, tbody th, td { display: block; width: auto; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  tbody th, td, td.type { border: 0; padding: .1rem 0; min-width: 0; }
  pre { white-space: pre-wrap; }
}
@media print { nav { display: none; } body { display: block; } .entry { break-inside: avoid-page; } }
"""

SCRIPT = """\
"use strict";
const search = document.getElementById("search"), found = document.getElementById("found");
const entries = [...document.querySelectorAll(".entry")].map(entry => ({
  entry, link: document.querySelector(`nav a[href="#${entry.id}"]`).parentElement,
  words: [...entry.querySelectorAll("h3 span, tbody th code")].map(part => part.textContent.toLowerCase()),
}));
search.hidden = false;
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  let count = 0;
  for (const {entry, link, words} of entries) {
    const matches = words.some(word => word.includes(wanted));
    entry.hidden = link.hidden = !matches;
    count += matches ? 1 : 0;
  }
  found.textContent = wanted ? `${count} found` : "";
});
"""
