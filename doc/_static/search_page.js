/* On search.html: the results of SectionSearch, one entry a page, its sections with excerpts below. */
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const query = new URLSearchParams(location.search).get("q") || "";
  const place = document.getElementById("search-results");
  document.querySelectorAll('input[name="q"]').forEach((field) => (field.value = query));
  if (!place || !query.trim()) return;

  function makeElement(tag, className, text = "") {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  }

  function makeLink(address, text) {
    const link = makeElement("a", "", text);
    link.href = address;
    return link;
  }

  function nameKind(page) {
    if (page.startsWith("api/")) return "Reference";
    return page.startsWith("gallery/") ? "Gallery" : "Guide";
  }

  function describeSection([page, , anchor, heading, , text]) {
    const row = makeElement("p", "section");
    if (anchor) row.append(makeLink(`${page}#${anchor}`, heading), document.createElement("br"));
    const { isCutBefore, pairs, isCutAfter } = SectionSearch.excerpt(text, query);
    if (isCutBefore) row.append("… ");
    for (const [word, isHit] of pairs) row.append(isHit ? makeElement("mark", "", word) : word, " ");
    if (isCutAfter) row.append("…");
    return row;
  }

  const results = SectionSearch.search(SectionSearch.build(SECTIONS), query);
  const entries = new Map();
  for (const { number, page } of results) {
    if (!entries.has(page)) {
      const entry = makeElement("li", "");
      entry.append(makeLink(page, SECTIONS[number][1]), makeElement("span", "kind", ` ${nameKind(page)}`));
      entries.set(page, entry);
    }
    entries.get(page).append(describeSection(SECTIONS[number]));
  }
  const found = `${entries.size} ${entries.size === 1 ? "page" : "pages"} for "${query}"`;
  const nothing = `No page was found for "${query}". Try one word of it, or read the glossary.`;
  const summary = makeElement("p", "search-summary", entries.size ? found : nothing);
  summary.setAttribute("role", "status");
  const list = makeElement("ul", "search");
  list.append(...entries.values());
  place.replaceChildren(summary, list);
});
