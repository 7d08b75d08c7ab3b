/* Search by sections: BM25 over the headings, index entries, text and code of SECTIONS (sections.js).
   For the page of results, and for doc/searches.py, which measures it. No dependency, no server. */
var SectionSearch = (function () {
  "use strict";

  const STOP_WORDS = new Set(
    ("a an and are as at be by can do does for from has have how i if in is it its me my need not of on or our " +
      "should that the this to use using want what when where which who why will with you your").split(" ")
  );

  /* What users say -> what the pages say. A synonym counts less than a word that was typed. */
  const SYNONYMS = {
    age: "group bin", alarm: "alert", alert: "alarm", bias: "gap fairness", biased: "gap", compare: "difference",
    customer: "sample", dataframe: "pandas", deep: "network", definition: "criterion constraint",
    deploy: "pickle", drift: "monitor", fast: "time seconds", forest: "model", gender: "sex group",
    graph: "network spectral", hyperparameter: "search grid", illegal: "law", imbalanced: "class",
    install: "pip", intersection: "subgroup", intersectional: "subgroup", joblib: "pickle", label: "outcome",
    legal: "law", metricframe: "report", nan: "missing", neural: "network", null: "missing", pareto: "front",
    percent: "%", production: "deploying", race: "group attribute", recommend: "rank", recommender: "rank",
    save: "pickle", sex: "group", slice: "subgroup", slow: "time seconds", speed: "time seconds", subset: "subgroup",
    tradeoff: "front trade", tune: "search grid", uncertain: "interval", uncertainty: "interval conformal",
    unfair: "gap", windows: "platform", worse: "levelling",
  };

  const WEIGHTS = [6, 3, 5, 1, 0.5]; // of the heading, title of the page, entries of the index, text, code
  const K1 = 1.2; // saturation of repeated words
  const B = 0.75; // how much long sections count less
  const SYNONYM = 0.4;
  const PAGE = 0.5; // what the words of the whole page count for its sections
  const GUIDE = 2; // pages of the guide answer questions: before gallery, reference and what was tried
  const INNER = 0.9; // pages of other packages' names and figures, and of changes
  const MEMBER = 0.45; // members of classes, unless one name alone was typed
  const PER_PAGE = 3; // sections that are listed

  const SUFFIXES = ["ations", "ation", "ingly", "ings", "ing", "ities", "ity", "ies", "ers", "er", "ed", "es", "s", "e"];

  function stem(word) {
    for (const suffix of SUFFIXES)
      if (word.endsWith(suffix) && word.length - suffix.length >= 4) return word.slice(0, -suffix.length);
    return word;
  }

  /* Stems of a text. Identifiers count whole and in parts: ConstrainedClassifierCV, n_jobs. */
  function words(text) {
    const found = [];
    for (const word of text.match(/[\p{L}\p{N}_]+/gu) || []) {
      found.push(word.toLowerCase());
      const parts = word.match(/[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])/g) || [];
      if (parts.length > 1) found.push(...parts.map((part) => part.toLowerCase()));
    }
    return found.filter((word) => !STOP_WORDS.has(word)).map(stem);
  }

  /* Weighted counts of the stems of a section, and their sum. */
  function countWords(fields) {
    const counts = new Map();
    let length = 0;
    fields.forEach((field, position) => {
      for (const word of words(field)) {
        counts.set(word, (counts.get(word) || 0) + WEIGHTS[position]);
        length += WEIGHTS[position];
      }
    });
    return { counts, length };
  }

  /* Inverted index: stem -> pairs of a document and its count; and the lengths of documents. */
  function invert(documents) {
    const postings = new Map();
    documents.forEach(({ counts }, number) => {
      for (const [word, count] of counts) {
        if (!postings.has(word)) postings.set(word, []);
        postings.get(word).push([number, count]);
      }
    });
    const lengths = documents.map(({ length }) => length);
    return { postings, lengths, mean: lengths.reduce((a, b) => a + b, 0) / lengths.length };
  }

  /* A text without spaces and marks, to compare titles and names as a whole. */
  function normalize(text) {
    return text.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase();
  }

  /* Index of rows of page, title of the page, anchor, heading, entries, text, code. */
  function build(sections) {
    const documents = sections.map(([, title, , heading, entries, text, code]) =>
      countWords([heading, title, entries, text, code])
    );
    const numbers = new Map();
    for (const [page] of sections) if (!numbers.has(page)) numbers.set(page, numbers.size);
    const pages = [...numbers].map(() => ({ counts: new Map(), length: 0 }));
    documents.forEach(({ counts, length }, number) => {
      const page = pages[numbers.get(sections[number][0])];
      for (const [word, count] of counts) page.counts.set(word, (page.counts.get(word) || 0) + count);
      page.length += length;
    });
    return {
      sections,
      numbers,
      parts: invert(documents),
      whole: invert(pages),
      headings: sections.map((row) => normalize(row[3])),
      entries: sections.map((row) => row[4].split(" | ").map(normalize)),
      names: sections.map((row) => normalize(row[0].replace(/\.html$/, "").split(/[./]/).pop())),
      members: sections.map((row) => normalize(row[2].split(".").slice(-2).join(""))),
    };
  }

  /* Documents with a word; if there are none, those with a word that begins so. */
  function findDocuments(postings, word, isTyped) {
    if (postings.has(word) || !isTyped || word.length < 4) return postings.get(word) || [];
    const counts = new Map();
    for (const [other, pairs] of postings)
      if (other.startsWith(word)) for (const [number, count] of pairs) counts.set(number, (counts.get(number) || 0) + count);
    return [...counts];
  }

  /* BM25 of documents, lower for those that lack words that were typed. */
  function scoreDocuments({ postings, lengths, mean }, query) {
    const scores = new Map();
    const hits = new Map();
    let n_typed = 0;
    for (const [word, factor] of query) {
      const isTyped = factor === 1;
      n_typed += isTyped;
      const documents = findDocuments(postings, word, isTyped);
      const rarity = Math.log(1 + (lengths.length - documents.length + 0.5) / (documents.length + 0.5));
      for (const [number, count] of documents) {
        const norm = K1 * (1 - B + (B * lengths[number]) / mean);
        scores.set(number, (scores.get(number) || 0) + (factor * rarity * count * (K1 + 1)) / (count + norm));
        if (isTyped) hits.set(number, (hits.get(number) || 0) + 1);
      }
    }
    for (const [number, score] of scores) scores.set(number, score * (0.15 + (hits.get(number) || 0) / Math.max(1, n_typed)));
    return scores;
  }

  /* Stems of a query -> 1 for what was typed, less for synonyms. */
  function readQuery(index, text) {
    const name = stem(text.trim().toLowerCase());
    const isKnownName = /^[\w.]+$/.test(text.trim()) && index.parts.postings.has(name);
    const query = new Map((isKnownName ? [name] : words(text)).map((word) => [word, 1]));
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}_%]+/gu) || []) {
      const others = SYNONYMS[word] || SYNONYMS[word.replace(/s$/, "")] || "";
      for (const other of others.split(" ").filter(Boolean).map(stem)) if (!query.has(other)) query.set(other, SYNONYM);
    }
    return query;
  }

  /* Sections that answer a text, best first, at most PER_PAGE of a page. */
  function search(index, text, limit = 60) {
    const { sections, numbers, headings, entries, names, members } = index;
    const query = readQuery(index, text);
    const whole = scoreDocuments(index.whole, query);
    const isName = /^[\w.]+$/.test(text.trim());
    const typed = normalize(text);
    const ranked = [...scoreDocuments(index.parts, query)].map(([number, score]) => {
      const [page, , anchor] = sections[number];
      score += PAGE * (whole.get(numbers.get(page)) || 0);
      if (!/^(gallery|api|decisions)/.test(page)) score *= GUIDE;
      if (/^(comparison|whats_new)\./.test(page)) score *= INNER;
      if (anchor.startsWith("skfair.") && !isName) score *= MEMBER;
      // A title, an entry of the index, the name of a page and Class.method come first when they are typed.
      if (headings[number] === typed) score += 1000;
      if (entries[number].includes(typed)) score += 3500;
      if (names[number] === typed) score += 2000;
      if (isName && members[number] === typed) score += 3000;
      return { number, score, page };
    });
    ranked.sort((a, b) => b.score - a.score || a.number - b.number);
    const counts = new Map();
    const isListed = ({ page }) => {
      counts.set(page, (counts.get(page) || 0) + 1);
      return counts.get(page) <= PER_PAGE;
    };
    return ranked.filter(isListed).slice(0, limit);
  }

  /* The stretch of a text with the most words that were typed: pairs of a word and whether it was typed. */
  function excerpt(text, query, width = 28) {
    const typed = new Set(words(query));
    const pairs = text.split(" ").map((word) => [word, words(word).some((one) => typed.has(one))]);
    let start = 0;
    let most = -1;
    for (let i = 0; i < pairs.length; i += 4) {
      const n_hits = pairs.slice(i, i + width).filter(([, isHit]) => isHit).length;
      if (n_hits > most) {
        most = n_hits;
        start = i;
      }
    }
    return { isCutBefore: start > 0, pairs: pairs.slice(start, start + width), isCutAfter: start + width < pairs.length };
  }

  return { build, search, excerpt };
})();
