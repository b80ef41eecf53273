import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Throws if a link of the built site leads to a page or a heading that does not exist, or if a page loads something from another host. */
export function checkLinks(folder: string): void {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.html'),
  );
  const html = new Map(pages.map((name) => [`/${name}`, readFileSync(join(folder, name), 'utf8')]));
  const ids = new Map(
    [...html].map(([name, text]) => [
      name,
      new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)),
    ]),
  );
  const problems = new Map<string, string>();
  const report = (problem: string, from: string): void =>
    void problems.set(problem, problems.get(problem) ?? from);
  for (const [from, text] of html) {
    for (const [, href] of text.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      const { origin, pathname, hash } = new URL(href!.replaceAll('&amp;', '&'), `http://site${from}`);
      if (origin !== 'http://site') continue;
      const page = pathname.replace(/\/$/, '/index.html');
      const anchor = decodeURIComponent(hash.slice(1));
      if (!existsSync(join(folder, page))) report(`no page ${page}`, from);
      else if (anchor !== '' && !ids.get(page)?.has(anchor)) report(`no heading ${page}#${anchor}`, from);
    }
    for (const [, address] of text.matchAll(/<(?:script|link|img)\b[^>]*?(?:src|href)="(https?:[^"]+)"/g))
      report(`loads ${address}`, from);
  }
  const lines = [...problems].map(([problem, from]) => `${from}: ${problem}`);
  if (lines.length > 0) throw new Error(`The site has wrong links:\n${lines.join('\n')}`);
}
