import fc from 'fast-check';
import { removedFrom, sanitise } from '../../../services/command/sanitise';
import { anyText } from '../../support/any-text';
import { cases } from '../../support/long';

const ATTRIBUTE = /\s([a-z]+)="([^"]*)"/g;
const TAG = /<((?:[a-z0-9]+)(?:\s[a-z]+="[^"]*")*\s*\/?)>/g;

describe('sanitised HTML', () => {
  test('keeps formatting, lists and tables', () => {
    const html =
      '<h2>Tea</h2><p>A <strong>good</strong> <em>one</em><br /></p><ul><li>x</li></ul>' +
      '<table><tr><td colspan="2">1</td></tr></table>';
    expect(sanitise(html)).toBe(html);
  });

  test.each([
    ['scripts', '<p>a</p><script>alert(1)</script>', '<p>a</p>'],
    ['style sheets', '<style>p{}</style><p style="color:red">a</p>', '<p>a</p>'],
    ['handlers', '<p onclick="x()" class="y" id="z">a</p>', '<p>a</p>'],
    ['frames', '<iframe src="https://e.example">b</iframe><p>a</p>', '<p>a</p>'],
    ['forms, but not their text', '<form action="/x">a<input name="b"></form>', 'a'],
    ['drawings', '<svg><style><img src=x onerror=alert(1)></style></svg>a', 'a'],
    ['comments', 'a<!-- <script> -->b', 'ab'],
    ['control characters behind entities', 'a&#1;b', 'ab'],
  ])('drops %s', (_what, html, safe) => {
    expect(sanitise(html)).toBe(safe);
  });

  test.each(['http://a.example/', 'https://a.example/?x=1', 'mailto:a@b.example'])(
    'keeps a link to %s',
    (href) => {
      expect(sanitise(`<a href="${href}" target="_blank" rel="opener">a</a>`)).toBe(
        `<a href="${href}" rel="noopener nofollow">a</a>`,
      );
    },
  );

  test('completes addresses that begin with // to https', () => {
    expect(sanitise('<a href="//a.example/x">a</a><img src="//a.example/x.png" />')).toBe(
      '<a href="https://a.example/x" rel="noopener nofollow">a</a><img src="https://a.example/x.png" />',
    );
  });

  test('lacks what is listed as removed, each once', () => {
    const html =
      '<p style="x" title="y"><a href="tel:+1">a</a> <a href="/b">b</a> <a href="//c.example">c</a>' +
      '<img src="d.png"><IFRAME src="https://e.example"></IFRAME></p><p style="z" onclick="f()">' +
      '<script>alert("<b>")</script>a &lt; b</p>';
    expect(removedFrom(html)).toEqual([
      ...['attribute style', 'attribute title', 'link "tel:+1"', 'link "/b"', 'image "d.png"'],
      ...['<iframe>', 'attribute onclick', '<script>'],
    ]);
    expect(removedFrom(sanitise(html))).toEqual([]);
    expect(removedFrom('a < b')).toEqual([]);
  });

  test.each(['javascript:alert(1)', 'java&#1;script:alert(1)', 'data:text/html,x', '///a.example', '/a', ''])(
    'replaces a link to "%s" by its text',
    (href) => {
      expect(sanitise(`<a href="${href}" onclick="x()">a</a>`)).toBe('<span>a</span>');
    },
  );

  test('keeps only http(s) images', () => {
    const kept = '<img src="https://a.example/b.png" alt="B" />';
    expect(sanitise(`${kept}<img src="data:image/png;base64,AA"><img src="/c.png"><img>`)).toBe(kept);
  });

  test('is escaped text if the input has no valid tags', () => {
    expect(sanitise('<script>x</script> <p')).toBe('');
    expect(sanitise('1 < 2 & 3')).toBe('1 &lt; 2 &amp; 3');
  });

  test('is nested at most 50 levels deep', () => {
    const deep = `${'<div>'.repeat(50)}a${'</div>'.repeat(50)}`;
    expect(sanitise(`${'<div>'.repeat(9_000)}a`)).toBe(deep);
    const links = sanitise('<b><a href="https://x.example">'.repeat(1_500));
    expect(links.match(/<\w/g)).toHaveLength(50);
  });

  const fragments = fc.constantFrom(
    ...[
      '<p>',
      '</p>',
      '<b',
      '>',
      '<a href="',
      'javascript:',
      'https://x.example',
      '"',
      "'",
      ' ',
      '<img src=',
      '<!--',
    ],
    ...[
      '-->',
      '<script>',
      '</script>',
      '<style>',
      '<svg>',
      '<math>',
      '</',
      '<table>',
      '<td>',
      'onerror=x',
      '<b onclick="x" style=y>',
      '<a href="javascript:x" onload=x>',
      '&lt;',
    ],
    ...[
      '&#x3c;',
      '&#1;',
      '&amp;',
      '<![CDATA[',
      ']]>',
      '<textarea>',
      '<title>',
      '<noscript>',
      '\u0000',
      'a',
      '=',
      '/',
    ],
  );
  const tag_soup = fc.array(fragments, { maxLength: 40 }).map((parts) => parts.join(''));

  test('of any sequence of fragments is safe, and sanitising it again changes nothing', () => {
    fc.assert(
      fc.property(tag_soup, (html) => {
        const safe = sanitise(html);
        expect(safe).not.toMatch(/<(script|style|iframe|svg|math|object|form|textarea|title)/i);
        for (const [, tag = ''] of safe.matchAll(TAG)) {
          for (const [, name = '', value = ''] of tag.matchAll(ATTRIBUTE)) {
            expect(name).toMatch(
              /^(lang|dir|href|title|rel|src|alt|width|height|start|colspan|rowspan|scope)$/,
            );
            if (name === 'href' || name === 'src') expect(value).toMatch(/^(https?:\/\/|mailto:)/i);
          }
          expect(tag.replaceAll(ATTRIBUTE, '')).toMatch(/^[a-z0-9]*(\s*\/)?$/);
        }
        // There are no tags other than those that the patterns above match.
        expect(safe.replaceAll(TAG, '').replaceAll(/<\/[a-z0-9]+>/g, '')).not.toContain('<');
        expect(sanitise(safe)).toBe(safe);
      }),
      cases(200, 20_000),
    );
  });

  test('a text without markup is sanitised like the text of an element', () => {
    const text = anyText({ maxLength: 40 }).map((text) => `x${text.replaceAll(/[<>&]/g, '')}x`);
    fc.assert(
      fc.property(text, (plain) => {
        expect(`<p>${sanitise(plain)}</p>`).toBe(sanitise(`<p>${plain}</p>`));
      }),
      cases(),
    );
  });
});
