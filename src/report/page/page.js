'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const $ = (id) => document.getElementById(id);
  const ROW = 30, PAD = 10, HEAD = 38;
  let GUTTER = 56;
  /* Folding is for windows that do not fit a screen; fewer columns are always shown. */
  const FOLD_ABOVE = 30, COLUMNS = 8;

  /* Text with `code` in it. All text of the report passes here or through textContent: nothing is ever parsed as HTML. */
  const rich = (node, text) => {
    String(text).split('`').forEach((part, i) => {
      if (part === '') return;
      if (i % 2) { const code = document.createElement('code'); code.textContent = part; node.append(code); }
      else node.append(part);
    });
    return node;
  };
  const make = (tag, cls, text) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    if (text !== undefined) rich(node, text);
    return node;
  };
  const plain = (tag, cls, text) => { const node = make(tag, cls); node.textContent = text; return node; };
  const count = (n, what) => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`;
  const where = (place) => !place ? '' : place.file ? `${place.file}:${place.line}:${place.column}` : `site ${place.label}`;
  const colour = (t) => `var(--t${t % 6})`;

  /* The report as a board: columns, events in order, boxes. */
  function board(item) {
    const report = item.report, w = report.window;
    const names = w ? w.strands.slice() : [];
    const column = (name) => { let i = names.indexOf(name); if (i < 0) i = names.push(name) - 1; return i; };
    /* The blamed transaction has colour 0, the others follow in the cycle's order. */
    const n = report.transactions.length;
    const hue = (t) => (t - report.blame + n) % Math.max(n, 1);
    const events = [];
    const gaps = new Map();
    if (w) {
      w.events.forEach(([position, strand, op, target, place]) => events.push({ position, strand, op, target, place: w.places[place] }));
      (w.gaps || []).forEach((gap) => gaps.set(gap.at, gap));
    } else {
      report.transactions.forEach((t, i) => {
        if (t.block) events.push({ position: t.begin ?? 0, strand: column(t.strand), op: 'begin', block: t.block, place: t.place, unknown: t.begin == null, t: i });
      });
      /* A begin at an unknown position comes before its transaction's first access. */
      events.forEach((e) => {
        const first = report.accesses.find((a) => a.transaction === e.t);
        if (e.unknown) e.position = first ? first.position - 0.5 : 0;
      });
      events.sort((a, b) => a.position - b.position);
    }
    const shift = [];
    report.accesses.forEach((a) => {
      const strand = column(a.strand);
      let at = events.findIndex((e) => e.position === a.position && e.op === a.op && e.strand === strand);
      if (at < 0) {
        at = events.findIndex((e) => e.position > a.position);
        if (at < 0) at = events.length;
        events.splice(at, 0, { position: a.position, strand, op: a.op, place: a.place });
        shift.push(at);
      }
      Object.assign(events[at], { access: a, hue: hue(a.transaction), place: a.place || events[at].place });
    });
    const cuts = [];
    gaps.forEach((gap) => cuts.push({ ...gap, at: gap.at && gap.at + shift.filter((s) => s < gap.at).length }));
    cuts.sort((a, b) => a.at - b.at);

    /* Boxes: from begin to end on a strand; what is left out opens and closes them raggedly. */
    const boxes = [], open = new Map();
    const blockOf = (e) => e.block || (w && w.blocks[e.target]) || { name: '' };
    /* A transaction is known by its strand and the position of its begin. */
    const hueOf = (strand, begin) => {
      const t = report.transactions.findIndex((t) => t.block && t.begin === begin && t.strand === names[strand]);
      return t < 0 ? undefined : hue(t);
    };
    const close = (strand, to, openEnd) => {
      const box = open.get(strand);
      if (!box) return;
      open.delete(strand);
      Object.assign(box, { to, openEnd });
      boxes.push(box);
    };
    let cut = 0;
    const atCut = (i) => {
      while (cut < cuts.length && cuts[cut].at <= i) {
        [...open.keys()].forEach((strand) => close(strand, i - 1, true));
        cuts[cut].open.forEach(([strand, block, begin]) =>
          open.set(strand, { strand, block: w.blocks[block], from: i, openTop: true, hue: hueOf(strand, begin) }));
        cut += 1;
      }
    };
    events.forEach((e, i) => {
      atCut(i);
      if (e.op === 'begin') { close(e.strand, i - 1, true); open.set(e.strand, { strand: e.strand, block: blockOf(e), from: i, hue: hueOf(e.strand, e.position) }); }
      const box = open.get(e.strand);
      e.box = box;
      if (box && e.access && report.transactions[e.access.transaction].block) { box.hue = e.hue; }
      if (e.op === 'end') close(e.strand, i, false);
    });
    [...open.keys()].forEach((strand) => close(strand, events.length - 1, true));

    /* The cycle's columns first, the blamed one leftmost. */
    const order = [];
    for (let i = 0; i < n; i += 1) {
      const strand = column(report.transactions[(report.blame + i) % n].strand);
      if (!order.includes(strand)) order.push(strand);
    }
    report.accesses.forEach((a) => { const s = column(a.strand); if (!order.includes(s)) order.push(s); });
    const inCycle = order.length;
    names.forEach((_, i) => { if (!order.includes(i)) order.push(i); });
    return { item, report, names, events, cuts, boxes, order, inCycle, blockOf };
  }

  let view, chosen = 0, selected = -1;

  function show(index) {
    chosen = index;
    const item = data.items[index];
    const b = board(item);
    const fits = b.events.length <= FOLD_ABOVE;
    view = { b, unfolded: new Set(), allEvents: fits, allStrands: b.names.length <= COLUMNS };
    selected = -1;
    document.querySelectorAll('#list button').forEach((button, i) => button.setAttribute('aria-current', String(i === index)));
    story(item);
    layout();
    $('scroller').scrollTo(0, 0);
    const first = b.events.findIndex((e) => e.access);
    if (first >= 0) select(first, true); else detail(null);
  }

  function story(item) {
    const { report } = item;
    const node = $('story');
    node.replaceChildren(make('h1', '', report.message));
    const chips = make('div', 'chips');
    const blamed = report.transactions[report.blame];
    const place = blamed && ((blamed.block && blamed.block.place) || blamed.place);
    [report.tier, report.pattern, place && where(place), report.test && `test ${report.test}`, item.count > 1 && `seen ${count(item.count, 'time')}`]
      .filter(Boolean).forEach((text) => chips.append(plain('span', 'chip', text)));
    node.append(chips, make('p', 'why', report.explanation));
    [report.chain, report.schedule].filter((lines) => lines && lines.length).forEach((lines) => {
      const list = make('ol', 'chain');
      lines.forEach((line) => list.append(make('li', '', line)));
      node.append(list);
    });
    if (item.others.length) {
      node.append(make('p', '', `${count(item.others.length, 'other violation')} of the same blocks and objects:`));
      const others = make('ul');
      item.others.forEach((line) => others.append(make('li', '', line)));
      node.append(others);
    }
    const steps = make('ol', 'steps');
    report.accesses.forEach((a, i) => {
      const button = make('button');
      button.dataset.number = a.number;
      const n = report.transactions.length;
      button.append(badge(a.number, (a.transaction - report.blame + n) % n), make('span', '', item.told[i]), plain('span', 'at', where(a.place)));
      button.onclick = () => select(view.b.events.findIndex((e) => e.access === a), true);
      const li = make('li'); li.append(button); steps.append(li);
    });
    node.append(steps);
    report.transactions.filter((t) => t.panicked).forEach((t) =>
      node.append(make('p', 'none', `A panic left transaction \`${t.block ? t.block.name : ''}\` on thread \`${t.strand}\`: what it had written by then stays.`)));
    const help = make('ul', 'help');
    (report.help || []).forEach((line) => help.append(make('li', '', line)));
    node.append(help);
  }

  const badge = (number, hue) => { const node = plain('span', 'num', number); node.style.setProperty('--c', colour(hue)); return node; };

  /* Rows: events, folded runs of them, and what is not there. */
  function layout() {
    const { b } = view, { events, report } = b;
    const shown = view.allStrands ? b.order : b.order.slice(0, b.inCycle);
    view.shown = shown;
    view.col = new Map(shown.map((strand, i) => [strand, i]));
    const near = new Set();
    const anchors = [];
    events.forEach((e, i) => { if (e.access) anchors.push(i); });
    const cycleBoxes = new Set(b.boxes.filter((box) => box.hue !== undefined));
    const keep = (e, i) => e.access || near.has(i) || ((e.op === 'begin' || e.op === 'end') && cycleBoxes.has(e.box));
    anchors.forEach((i) => { near.add(i - 1); near.add(i + 1); });

    const rows = [], rowOf = new Array(events.length);
    const missing = report.window && report.window.missing;
    if (missing) rows.push({ kind: 'cut', text: `events ${missing.from} to ${missing.to} were lost: the window had room for ${count(missing.bytes, 'byte')} (AERODROME_WINDOW)` });
    let run = [];
    const flush = () => {
      if (!run.length) return;
      if (view.allEvents || view.unfolded.has(run[0]) || run.length < 4) {
        run.forEach((i) => { rowOf[i] = rows.length; rows.push({ kind: 'event', i, dim: true }); });
      } else {
        run.forEach((i) => { rowOf[i] = rows.length; });
        rows.push({ kind: 'fold', from: run[0], n: run.length });
      }
      run = [];
    };
    let cut = 0, hidden = 0;
    const cutRows = (i) => {
      while (cut < b.cuts.length && b.cuts[cut].at <= i) {
        if (b.cuts[cut].events) flush();
        if (b.cuts[cut].events) rows.push({ kind: 'cut', text: `${count(b.cuts[cut].events, 'event')} left out of this report` });
        cut += 1;
      }
    };
    events.forEach((e, i) => {
      cutRows(i);
      if (!view.col.has(e.strand)) { hidden += 1; rowOf[i] = -1; return; }
      if (keep(e, i)) { flush(); rowOf[i] = rows.length; rows.push({ kind: 'event', i }); } else run.push(i);
    });
    flush();
    cutRows(events.length);
    Object.assign(view, { rows, rowOf, hidden });

    const digits = String(Math.floor(events.length ? events[events.length - 1].position : 0)).length;
    GUTTER = Math.max(56, digits * 8 + 22);
    const room = $('scroller').clientWidth - GUTTER - PAD;
    view.width = Math.max(176, Math.min(360, Math.floor(room / shown.length)));
    view.total = GUTTER + PAD + shown.length * view.width;
    const stage = $('stage');
    stage.style.setProperty('--gutter', `${GUTTER}px`);
    stage.style.height = `${rows.length * ROW + 12}px`;
    stage.style.width = `${Math.max(view.total, GUTTER)}px`;

    const heads = $('heads');
    heads.replaceChildren(plain('span', 'corner', 'event'));
    heads.style.width = `${view.total}px`;
    heads.firstChild.style.width = `${GUTTER}px`;
    shown.forEach((strand, i) => {
      const head = plain('span', i < b.inCycle ? 'head' : 'head idle', b.names[strand]);
      head.title = b.names[strand];
      head.style.left = `${GUTTER + i * view.width}px`;
      head.style.width = `${view.width}px`;
      heads.append(head);
    });

    const tools = $('tools');
    tools.replaceChildren(plain('span', '', `${count(events.length, 'event')} on ${count(b.names.length, 'thread')}, time runs downwards`));
    const folds = rows.some((row) => row.kind === 'fold');
    if (folds || view.unfolded.size || (view.allEvents && events.length > FOLD_ABOVE)) {
      const all = plain('button', '', folds ? 'Unfold all events' : 'Fold what is not in the cycle');
      all.id = 'fold';
      all.onclick = () => { view.allEvents = folds; view.unfolded.clear(); relayout(); };
      tools.append(all);
    }
    if (b.names.length > b.inCycle) {
      const others = b.names.length - b.inCycle;
      const button = plain('button', '', view.allStrands ? 'Show the threads of the cycle only' : `Show ${count(others, 'other thread')} too`);
      button.id = 'strands';
      button.onclick = () => { view.allStrands = !view.allStrands; relayout(); };
      tools.append(button);
      if (!view.allStrands && hidden) tools.append(plain('span', '', `${count(hidden, 'event')} of theirs not shown`));
    }
    draw();
  }

  /* Keeps the selected event where it is on the screen. */
  function relayout() {
    const scroller = $('scroller');
    const before = selected >= 0 && view.rowOf[selected] >= 0 ? view.rowOf[selected] * ROW - scroller.scrollTop : 0;
    layout();
    if (selected >= 0 && view.rowOf[selected] >= 0) scroller.scrollTop = view.rowOf[selected] * ROW - before;
    draw();
  }

  const x = (strand) => GUTTER + view.col.get(strand) * view.width + 18;
  const y = (row) => row * ROW + ROW / 2;

  function label(e) {
    const { report } = view.b;
    if (e.op === 'begin' || e.op === 'end') {
      const node = make('span', '', `${e.op} `);
      node.append(plain('b', 'mono', view.b.blockOf(e).name || 'block'));
      return node;
    }
    if (e.access) return make('span', '', data.verbs[e.op].replace('%', view.b.item.labels[e.access.object] ?? 'it'));
    const w = report.window;
    if (e.op === 'fork' || e.op === 'join') return make('span', '', `${e.op === 'fork' ? 'spawns' : 'joins'} ${w.strands[e.target]}`);
    return make('span', '', (data.verbs[e.op] || e.op).replace('%', view.b.item.windowLabels[e.target] ?? 'it'));
  }

  /* Draws what is in sight, and only that. */
  function draw() {
    const { b, rows, rowOf } = view;
    const scroller = $('scroller'), stage = $('stage');
    const top = scroller.scrollTop, height = scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(top / ROW) - 8), last = Math.min(rows.length - 1, Math.ceil((top + height) / ROW) + 8);
    const parts = document.createDocumentFragment();

    view.shown.forEach((strand) => {
      const life = make('div', 'life');
      Object.assign(life.style, { left: `${x(strand) - 1}px`, top: `${first * ROW}px`, height: `${(last - first + 1) * ROW}px` });
      parts.append(life);
    });

    for (const box of b.boxes) {
      if (!view.col.has(box.strand)) continue;
      /* Its first and last event may be folded away, or belong to a hidden strand. */
      let from = box.from, to = box.to;
      while (from <= to && rowOf[from] < 0) from += 1;
      while (to >= from && rowOf[to] < 0) to -= 1;
      if (from > to) continue;
      const r0 = rowOf[from], r1 = rowOf[to];
      if (r1 < first || r0 > last) continue;
      if (r0 === r1 && rows[r0].kind === 'fold') continue;
      const node = make('div', `box${box.hue === undefined ? '' : ' cycle'}${box.openTop ? ' open-top' : ''}${box.openEnd ? ' open-end' : ''}`);
      if (box.hue !== undefined) node.style.setProperty('--c', colour(box.hue));
      const t = Math.max(r0, first - 1) * ROW + 2, u = (Math.min(r1, last + 1) + 1) * ROW - 2;
      const left = GUTTER + view.col.get(box.strand) * view.width + 2;
      Object.assign(node.style, { left: `${left}px`, width: `${view.width - 8}px`, top: `${t}px`, height: `${u - t}px` });
      parts.append(node);
      if (r0 * ROW < top - 4 && (r1 + 1) * ROW > top + 40) {
        const tag = plain('div', 'float', box.block.name || 'block');
        Object.assign(tag.style, { left: `${left + 34}px`, top: `${top}px`, maxWidth: `${view.width - 50}px` });
        parts.append(tag);
      }
    }

    const svgNs = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(svgNs, 'svg');
    svg.setAttribute('width', view.total);
    svg.setAttribute('height', (last - first + 1) * ROW);
    svg.style.top = `${first * ROW}px`;
    const byNumber = new Map();
    b.events.forEach((e, i) => { if (e.access) byNumber.set(e.access.number, i); });
    b.report.edges.forEach((edge, i) => {
      const from = b.events[byNumber.get(edge.from)], to = b.events[byNumber.get(edge.to)];
      if (!from || !to) return;
      const r0 = rowOf[byNumber.get(edge.from)], r1 = rowOf[byNumber.get(edge.to)];
      if (r0 === undefined || r1 === undefined || r1 < first || r0 > last) return;
      const x0 = x(from.strand), x1 = x(to.strand), o = first * ROW;
      const y0 = y(r0) - o + 11, y1 = y(r1) - o - 12;
      /* A short way down, then across between two rows, then down into the dot: labels stay readable. */
      const bend = Math.min(Math.max((y1 - y0) / 2, 9), 60);
      const d = from.strand === to.strand ? `M${x0} ${y0}L${x1} ${y1}` : `M${x0} ${y0}C${x0} ${y0 + bend * 1.6} ${x1} ${y1 - bend * 1.6} ${x1} ${y1}`;
      const path = document.createElementNS(svgNs, 'path');
      path.setAttribute('d', d);
      path.setAttribute('fill', 'none');
      path.setAttribute('class', 'arrow');
      path.dataset.edge = i;
      path.style.stroke = colour(from.hue);
      path.setAttribute('stroke-width', '2');
      if (from.strand === to.strand) path.setAttribute('stroke-dasharray', '3 4');
      const tip = document.createElementNS(svgNs, 'path');
      tip.setAttribute('d', `M${x1 - 5} ${y1 - 5}L${x1} ${y1 + 2}L${x1 + 5} ${y1 - 5}Z`);
      tip.style.fill = colour(from.hue);
      svg.append(path, tip);
    });
    parts.append(svg);

    for (let r = first; r <= last; r += 1) {
      const row = rows[r];
      if (row.kind !== 'event') {
        const node = make('div', row.kind === 'cut' ? 'fold cut' : 'fold');
        Object.assign(node.style, { top: `${r * ROW}px`, width: `${view.total}px` });
        const inner = plain(row.kind === 'cut' ? 'span' : 'button', '', row.kind === 'cut' ? row.text : `\u22ef ${count(row.n, 'event')}`);
        if (row.kind === 'fold') inner.onclick = () => { view.unfolded.add(row.from); relayout(); };
        node.append(inner);
        parts.append(node);
        continue;
      }
      const e = b.events[row.i];
      const node = make('div', 'row');
      Object.assign(node.style, { top: `${r * ROW}px`, width: `${view.total}px` });
      const pos = plain('span', 'pos', Number.isInteger(e.position) ? e.position : '');
      pos.style.width = `${GUTTER - 6}px`;
      const boundary = e.op === 'begin' || e.op === 'end';
      const button = make('button', `ev${e.access ? ' access' : boundary ? ' edge' : ' dim'}`);
      const hue = e.access ? e.hue : boundary && e.box ? e.box.hue : undefined;
      if (hue !== undefined) { button.style.setProperty('--c', colour(hue)); if (boundary) button.classList.add('cycle'); }
      Object.assign(button.style, { left: `${x(e.strand) - 18}px`, maxWidth: `${view.width - 14}px`, top: '0' });
      button.append(e.access ? badge(e.access.number, e.hue) : make('span', 'dot'), label(e));
      button.setAttribute('aria-pressed', String(row.i === selected));
      button.title = button.textContent;
      if (e.access) button.dataset.access = e.access.number;
      button.onclick = () => select(row.i, false);
      node.append(pos, button);
      parts.append(node);
    }
    stage.replaceChildren(parts);
  }

  function select(i, reveal) {
    selected = i;
    const scroller = $('scroller'), row = view.rowOf[i];
    if (reveal && row >= 0) {
      const at = row * ROW;
      if (at < scroller.scrollTop || at + ROW + HEAD > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = Math.max(0, at - scroller.clientHeight / 3);
      const left = x(view.b.events[i].strand) - GUTTER - 18;
      if (left < scroller.scrollLeft || left + view.width > scroller.scrollLeft + scroller.clientWidth - GUTTER) scroller.scrollLeft = Math.max(0, left - 40);
    }
    draw();
    detail(view.b.events[i]);
  }

  function detail(e) {
    const node = $('detail');
    if (!e) { node.replaceChildren(make('p', 'none', 'The engine that found this keeps no accesses. Check the trace with the engine `exact` to see them.')); return; }
    const { b } = view, { report, item } = b, a = e.access;
    const title = make('h2');
    if (a) title.append(badge(a.number, e.hue), make('span', '', item.told[a.number - 1]));
    else { title.append(label(e)); title.append(make('span', 'none', `on thread \`${b.names[e.strand]}\``)); }
    node.replaceChildren(title);
    node.append(plain('p', 'at', where(e.place) || 'no location is known'));
    const lines = source(report, e.place, a && item.spans[a.number - 1]);
    if (lines) node.append(lines);
    else if (e.place && e.place.file) node.append(make('p', 'none', 'The source lines are not in this report.'));
    const facts = make('dl');
    const fact = (name, value) => { if (value) facts.append(plain('dt', '', name), make('dd', '', value)); };
    const object = a ? report.objects[a.object] : report.window && !['begin', 'end', 'fork', 'join'].includes(e.op) && report.window.objects[e.target];
    if (object) {
      fact('object', object.name && `\`${object.name}\``);
      fact('type', object.type && `\`${object.type}\``);
      fact('created', object.created && where(object.created));
    }
    if (e.box) fact('transaction', `\`${e.box.block.name || 'unnamed'}\``);
    fact('event', Number.isInteger(e.position) ? e.position.toLocaleString('en') : '');
    node.append(facts);
    if (a && a.backtrace && a.backtrace.length) {
      node.append(make('h3', '', 'Stack'));
      const list = make('ol', 'stack');
      a.backtrace.forEach((frame) => {
        const li = plain('li', '', frame.function);
        if (frame.place) li.append(plain('span', '', where(frame.place)));
        list.append(li);
      });
      node.append(list);
    }
    const number = a ? String(a.number) : '';
    document.querySelectorAll('.steps button').forEach((button) => { button.style.background = button.dataset.number === number ? 'var(--mark)' : ''; });
  }

  function source(report, place, span) {
    if (!place || !place.file) return null;
    const excerpt = (report.excerpts || []).find((x) => x.file === place.file && x.line <= place.line && place.line < x.line + x.text.length);
    if (!excerpt) return null;
    const pre = make('pre');
    excerpt.text.forEach((text, i) => {
      const line = excerpt.line + i;
      if (Math.abs(line - place.line) > 5) return;
      const row = make('div', line === place.line ? 'hit' : '');
      const code = make('span');
      if (line === place.line) {
        const chars = [...text], [from, to] = span || [place.column - 1, chars.length];
        code.append(chars.slice(0, from).join(''), plain('u', '', chars.slice(from, to).join('')), chars.slice(to).join(''));
      } else code.textContent = text;
      row.append(plain('i', '', line), code);
      pre.append(row);
    });
    return pre;
  }

  /* The list, only where there is more than one. */
  const total = data.items.reduce((sum, item) => sum + item.count, 0);
  $('summary').textContent = data.items.length === 0 ? 'no violation' : data.items.length === 1 && total === 1 ? '1 violation' : `${count(data.items.length, 'violation')}, seen ${count(total, 'time')}`;
  if (data.items.length > 1) data.items.forEach((item, i) => {
    const button = make('button');
    button.append(make('div', '', item.report.message));
    const meta = make('div', 'meta');
    if (item.count > 1) meta.append(plain('span', 'count', `\u00d7${item.count.toLocaleString('en')}`));
    meta.append(plain('span', '', item.report.pattern));
    if (item.report.test) meta.append(plain('span', '', item.report.test));
    button.append(meta);
    button.onclick = () => { location.hash = String(i + 1); };
    $('list').append(button);
  });

  let pending = false;
  $('scroller').addEventListener('scroll', () => {
    if (pending || !view) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; draw(); });
  });
  /* Up and down go from access to access. */
  $('scroller').addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !view) return;
    const stops = view.b.events.map((e, i) => (e.access ? i : -1)).filter((i) => i >= 0);
    const next = step > 0 ? stops.find((i) => i > selected) : stops.reverse().find((i) => i < selected);
    if (next !== undefined) { event.preventDefault(); select(next, true); }
  });
  addEventListener('resize', () => { if (view) relayout(); });
  const go = () => {
    const index = (parseInt(location.hash.slice(1), 10) || 1) - 1;
    if (data.items[index] && (index !== chosen || !view)) show(index);
  };
  addEventListener('hashchange', go);
  if (data.items.length) go(); else { $('story').append(make('h1', '', 'No violation')); $('board').remove(); }
})();
