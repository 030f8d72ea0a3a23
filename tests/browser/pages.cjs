'use strict';
// Usage: NODE_PATH=.. node pages.cjs FOLDER, where FOLDER has the pages that the Rust test wrote.
const { chromium } = require('playwright-core');
const assert = require('node:assert/strict');
const path = require('node:path');

const folder = path.resolve(process.argv[2]);
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ARGS });
  let checks = 0;

  async function open(name, { scheme = 'light', width = 1440, height = 1000 } = {}) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
    const page = await context.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
    page.on('dialog', (dialog) => { errors.push(`a dialog opened: ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => { if (!/^(file|data):/.test(request.url())) errors.push(`asked the network for ${request.url()}`); });
    const started = Date.now();
    await page.goto(`file://${folder}/${name}.html`);
    await page.waitForFunction(() => document.querySelector('h1'));
    return { page, took: Date.now() - started, done: async () => { assert.deepEqual(errors, [], name); await context.close(); } };
  }
  const shot = (page, name) => page.screenshot({ path: path.join(folder, `${name}.png`) });
  async function test(what, body) {
    await body();
    checks += 1;
    console.log(`ok  ${what}`);
  }

  await test('the story, the columns, the boxes and the cycle are drawn', async () => {
    const { page, done } = await open('small');
    assert.equal(await page.textContent('h1'), 'Account::withdraw is not atomic');
    assert.match(await page.textContent('.why'), /another thread wrote balance between this check \(1\) and this write \(3\)/);
    assert.deepEqual(await page.$$eval('#heads .head', (heads) => heads.map((head) => head.textContent)), ['alice', 'bob', 'carol']);
    assert.equal(await page.locator('.ev.access').count(), 3);
    assert.equal(await page.locator('#stage path.arrow').count(), 2);
    assert.equal(await page.locator('.box').count(), 3);
    assert.equal(await page.locator('.box.cycle').count(), 2);
    // Time runs downwards, and each access is in its strand's column.
    const boxes = await page.$$eval('.ev.access', (nodes) => nodes.map((node) => { const r = node.getBoundingClientRect(); return [r.left, r.top]; }));
    assert.ok(boxes[0][1] < boxes[1][1] && boxes[1][1] < boxes[2][1]);
    assert.ok(boxes[0][0] === boxes[2][0] && boxes[1][0] > boxes[0][0] + 100);
    await done();
  });

  await test('a click on an access shows its lines and its stack', async () => {
    const { page, done } = await open('small');
    await page.click('.ev[data-access="2"]');
    assert.match(await page.textContent('#detail h2'), /writes balance in transaction Account::deposit on thread bob/);
    assert.match(await page.textContent('#detail pre .hit'), /\*self\.balance\.lock\(\)\.unwrap\(\) \+= amount;/);
    assert.equal(await page.getAttribute('.ev[data-access="2"]', 'aria-pressed'), 'true');
    assert.equal(await page.locator('#detail ol.stack').count(), 0);
    await page.click('.steps button[data-number="1"]');
    assert.match(await page.textContent('#detail pre .hit'), /let balance = \*self\.balance/);
    assert.match(await page.textContent('#detail ol.stack'), /bank::Account::withdraw/);
    assert.match(await page.textContent('#detail dl'), /Mutex<u64>/);
    // An event outside the cycle can be looked at as well.
    await page.click('.ev.dim >> nth=0');
    assert.match(await page.textContent('#detail h2'), /locks balance/);
    await page.focus('#scroller');
    await page.keyboard.press('ArrowDown');
    assert.match(await page.textContent('#detail h2'), /^1/);
    await done();
  });

  await test('light and dark differ and both are legible', async () => {
    const seen = {};
    for (const scheme of ['light', 'dark']) {
      for (const name of ['small', 'chain', 'wide', 'long', 'many', 'incomplete', 'no-edges']) {
        const { page, done } = await open(name, { scheme });
        if (name === 'small') await page.click('.ev[data-access="2"]');
        await shot(page, `${name}-${scheme}`);
        if (name === 'small') {
          const lightness = (rgb) => { const [r, g, b] = rgb.match(/\d+/g).map(Number); return 0.299 * r + 0.587 * g + 0.114 * b; };
          const [ink, ground] = await page.evaluate(() => { const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]; });
          assert.ok(Math.abs(lightness(ink) - lightness(ground)) > 150, `${scheme}: ${ink} on ${ground}`);
          seen[scheme] = ground;
        }
        await done();
      }
    }
    assert.notEqual(seen.light, seen.dark);
  });

  await test('forty strands: the cycle first, the rest on demand', async () => {
    const { page, done } = await open('wide');
    assert.deepEqual(await page.$$eval('#heads .head', (heads) => heads.map((head) => head.textContent)), ['T0', 'T1']);
    assert.match(await page.textContent('#tools'), /events of theirs not shown/);
    await page.click('#strands');
    assert.equal(await page.locator('#heads .head').count(), 40);
    assert.equal(await page.locator('.ev.access').count() > 0, true);
    await shot(page, 'wide-all');
    await page.evaluate(() => { document.getElementById('scroller').scrollLeft = 4000; });
    await page.waitForTimeout(100);
    await shot(page, 'wide-scrolled');
    await page.click('#strands');
    assert.equal(await page.locator('#heads .head').count(), 2);
    await done();
  });

  await test('a hundred thousand events: folded, unfolded, scrolled', async () => {
    const { page, took, done } = await open('long');
    assert.ok(took < 5000, `opened in ${took} ms`);
    assert.match(await page.textContent('#tools'), /100,\d\d\d events on 6 threads/);
    const folded = await page.evaluate(() => document.getElementById('stage').offsetHeight);
    assert.ok(folded < 2000, `${folded} px folded`);
    assert.equal(await page.locator('.ev.access').count(), 3);
    await page.click('#fold');
    const unfolded = await page.evaluate(() => document.getElementById('stage').offsetHeight);
    assert.ok(unfolded > 2500000, `${unfolded} px unfolded`);
    const nodes = await page.evaluate(() => document.querySelectorAll('#stage *').length);
    assert.ok(nodes < 2000, `${nodes} nodes for what is in sight`);
    const started = Date.now();
    await page.evaluate(async () => {
      const scroller = document.getElementById('scroller');
      for (let i = 0; i < 30; i += 1) { scroller.scrollTop = i * 90000; await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }
    });
    const frames = (Date.now() - started) / 30;
    assert.ok(frames < 250, `${frames} ms a frame`);
    await page.click('.steps button[data-number="3"]');
    await page.waitForSelector('.ev[data-access="3"]');
    await shot(page, 'long-unfolded');
    console.log(`    opened in ${took} ms, ${Math.round(frames)} ms a jump, ${nodes} nodes`);
    await done();
  });

  await test('one fold opens by a click', async () => {
    const { page, done } = await open('wide');
    await page.click('#strands');
    const before = await page.evaluate(() => document.getElementById('stage').offsetHeight);
    await page.click('.fold button >> nth=0');
    assert.ok(await page.evaluate(() => document.getElementById('stage').offsetHeight) > before);
    await done();
  });

  await test('what is missing is said', async () => {
    const { page, done } = await open('incomplete');
    const text = await page.textContent('#stage');
    assert.match(text, /events 1 to \d+ were lost: the window had room for 96,000 bytes/);
    assert.match(text, /events left out of this report/);
    assert.equal(await page.locator('.ev.access').count(), 3);
    await done();
  });

  await test('several violations are a list with counts', async () => {
    const { page, done } = await open('many');
    assert.ok(await page.locator('#list button').count() > 15);
    assert.match(await page.textContent('#list button >> nth=0'), /×14/);
    await page.click('#list button >> nth=5');
    assert.equal(await page.getAttribute('#list button >> nth=5', 'aria-current'), 'true');
    assert.match(await page.textContent('h1'), /try_admit/);
    await done();
  });

  await test('names with markup in them stay names', async () => {
    const { page, done } = await open('hostile');
    assert.equal(await page.textContent('h1'), '</ScRiPt><img src=x onerror=alert(2)> is not atomic');
    assert.equal(await page.locator('main img').count(), 0);
    for (const number of [1, 2, 3]) await page.click(`.ev[data-access="${number}"]`);
    await done();
  });

  await test('a narrow screen stacks the panes', async () => {
    const { page, done } = await open('small', { width: 420, height: 900 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} px too wide`);
    await shot(page, 'small-narrow');
    await done();
  });

  await test('no violation, no board; no edges, no dots', async () => {
    let { page, done } = await open('empty');
    assert.equal(await page.textContent('#summary'), 'no violation');
    await done();
    ({ page, done } = await open('no-edges'));
    assert.match(await page.textContent('#detail'), /keeps no accesses/);
    await done();
  });

  await browser.close();
  console.log(`${checks} checks passed; screenshots in ${path.relative(process.cwd(), folder)}`);
})().catch((error) => { console.error(error); process.exit(1); });
