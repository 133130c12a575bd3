// The search over all headings, names and texts. The index is a script, so that it loads from a file: address too.
(() => {
    'use strict';
    const root = document.currentScript.dataset.root.replace(/\/?$/, '/');
    const input = document.getElementById('site-search'), results = document.getElementById('site-results');
    let entries = null;

    // Calls `then` once the index is here.
    function load(then) {
        if (entries) return then();
        const script = document.createElement('script');
        script.src = root + 'search_index.js';
        script.onload = () => {
            entries = window.tlmalloc_index.map(([title, url, text]) =>
                ({title, url, text, low: text.toLowerCase(), name: title.toLowerCase()}));
            then();
        };
        document.head.append(script);
    }

    // 0 where a word is missing; names in titles weigh more than text.
    function score(entry, words) {
        let sum = 0;
        for (const word of words) {
            const names = entry.name.split(/[^a-z0-9_]+/);
            if (names.includes(word)) sum += names.length < 3 ? 100 : 40;
            else if (entry.name.startsWith(word)) sum += 50;
            else if (entry.name.includes(word)) sum += 20;
            else if (entry.low.includes(word)) sum += 1;
            else return 0;
        }
        return sum;
    }

    function row(entry, word) {
        const item = document.createElement('li'), link = document.createElement('a'), place = document.createElement('small');
        const at = Math.max(entry.low.indexOf(word) - 60, 0);
        link.href = root + entry.url;
        link.textContent = entry.title || entry.url;
        place.textContent = entry.url.replace(/#.*/, '') + ': ' + (at ? '... ' : '') + entry.text.slice(at, at + 160);
        link.append(place);
        item.append(link);
        return item;
    }

    function show() {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        const found = !words.length ? [] : entries.map((entry) => [score(entry, words), entry]).filter(([points]) => points)
            .sort((one, other) => other[0] - one[0]).slice(0, 30).map(([, entry]) => row(entry, words[0]));
        if (words.length && !found.length) {
            found.push(document.createElement('li'));
            found[0].textContent = 'No page and no header contains all of these words.';
        }
        results.replaceChildren(...found);
        results.hidden = !words.length;
    }

    input.addEventListener('input', () => load(show));
    document.addEventListener('keydown', (event) => {
        const links = [...results.querySelectorAll('a')], at = links.indexOf(document.activeElement);
        if (event.key === '/' && document.activeElement !== input) input.focus();
        else if (event.key === 'Escape') results.hidden = true;
        else if (event.key === 'Enter' && document.activeElement === input && links.length) links[0].click();
        else if (event.key === 'ArrowDown' && !results.hidden && links.length) links[(at + 1) % links.length].focus();
        else if (event.key === 'ArrowUp' && at > 0) links[at - 1].focus();
        else return;
        event.preventDefault();
    });
})();
