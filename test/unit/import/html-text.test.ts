import fc from 'fast-check';
import { htmlToText } from '../../../services/import/html-text';
import { cases } from '../../support/long';

test.each([
  ['plain text & more', 'plain text & more'],
  ['<p>One</p><p>Two<br>three</p>', 'One\n\nTwo\nthree'],
  ['<ul><li>a</li><li>b</li></ul>', 'a\n\nb'],
  ['caf&eacute; &amp; t&#233; &lt;3 &quot;x&quot;', 'café & té <3 "x"'],
  ['a&nbsp;&nbsp;b\n\n  c', 'a b c'],
  ['<table><tr><td>a</td><td>b</td></tr></table>', 'a b'],
  ['one<b>word</b>', 'oneword'],
  ['<script>alert(1)</script>x<style>p{}</style>', 'x'],
  ['&amp;lt;b&amp;gt;', '&lt;b&gt;'],
  ['&lt;script&gt;', '<script>'],
  ['', ''],
])('converts %j to text', (html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test('cuts a long text at the limit without splitting a character', () => {
  expect(htmlToText('x'.repeat(10_001))).toHaveLength(10_000);
  expect(htmlToText(`${'x'.repeat(9_999)}😀`)).toBe('x'.repeat(9_999));
});

test('the text of any input respects the limit and has no control character except the newline', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (html) => {
      const text = htmlToText(html, 50);
      expect(text.length).toBeLessThanOrEqual(50);
      expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
    }),
    cases(),
  );
});
