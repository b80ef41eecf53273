import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type MarkdownIt from 'markdown-it';
import { type DefaultTheme, defineConfig } from 'vitepress';
import { API_PAGES } from '../api/[page].paths';
import { checkLinks } from './check-links';

const ROOT = resolve(import.meta.dirname, '../../..');
const DOCS = join(ROOT, 'docs');
const MODULES = join(DOCS, 'site/node_modules');

type Item = DefaultTheme.SidebarItem;

const page = (text: string, link: string): Item => ({ text, link });

/** Returns the pages of a folder, `README.md` first, with their titles. */
function pagesIn(folder: string): Item[] {
  return readdirSync(join(DOCS, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => {
      const [, title] = /^# (.+)$/m.exec(readFileSync(join(DOCS, folder, name), 'utf8'))!;
      return page(title!, `/${folder}/${name.replace(/README\.md$/, '').replace(/\.md$/, '')}`);
    });
}

const SIDEBAR: Item[] = [
  {
    text: 'Start',
    items: [
      page('Quick start', '/quick-start'),
      page('Concepts', '/concepts'),
      page('Glossary', '/glossary'),
    ],
  },
  {
    text: 'Guides',
    items: [
      page('Storefront', '/storefront'),
      page('Import and export', '/import'),
      page('Feeds', '/feeds'),
      page('Universal Commerce Protocol', '/ucp'),
      page('MCP', '/mcp'),
      page('Webhooks', '/webhooks'),
      page('Feed of changes', '/interface/changes'),
      page('Console', '/console'),
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'Interface', link: '/interface/', collapsed: true, items: pagesIn('interface') },
      { text: 'API reference', link: '/api/', collapsed: true, items: API_PAGES },
      page('Errors', '/errors'),
      page('TypeScript client', '/client'),
      page('Command line', '/cli'),
    ],
  },
  {
    text: 'Operations',
    items: [
      { text: 'Operations', link: '/operations/', collapsed: true, items: pagesIn('operations') },
      page('Configuration', '/configuration'),
      page('Metrics and health', '/metrics'),
      page('Performance', '/performance'),
    ],
  },
  {
    text: 'Inside',
    items: [
      page('Architecture', '/architecture'),
      page('Path of a request', '/http'),
      { text: 'How to', collapsed: true, items: pagesIn('howto') },
      { text: 'Decisions', link: '/decisions/', collapsed: true, items: pagesIn('decisions') },
    ],
  },
];

/** Returns the anchor of a heading by GitHub's rules, so that a link works there and here. */
const slugify = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');

/**
 * Makes links of the repository work in the site: `README.md` becomes `index.md`. A link to a file that is no page, such as
 * `../CHANGELOG.md`, becomes its text and the path in the repository.
 */
function repositoryLinks(md: MarkdownIt): void {
  md.core.ruler.push('repository_links', ({ tokens, env }) => {
    // The theme's own texts have no path.
    if (env.path === undefined) return;
    const folder = dirname(env.path);
    for (const { children } of tokens)
      for (const [at, token] of (children ?? []).entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href')! : '#';
        if (/^([a-z]+:|#|\/)/.test(href)) continue;
        const file = resolve(folder, decodeURI(href.replace(/#.*/, '')));
        if (file.startsWith(DOCS) && file.endsWith('.md')) {
          token.attrSet('href', href.replace(/\bREADME\.md/, 'index.md'));
          continue;
        }
        const close = children!.findIndex(({ type }, index) => index > at && type === 'link_close');
        const path = relative(ROOT, file);
        const text = children!
          .slice(at, close)
          .map(({ content }) => content)
          .join('');
        Object.assign(token, { type: 'html_inline', tag: '', content: '' });
        const suffix = path.endsWith(text) ? '' : ` (<code>${path}</code>)`;
        Object.assign(children![close]!, { type: 'html_inline', tag: '', content: suffix });
      }
  });
}

export default defineConfig({
  title: 'Catalog service',
  description: 'A catalog for online stores: event-sourced writes, projected reads.',
  srcDir: '..',
  srcExclude: ['site/node_modules/**', 'site/dist/**'],
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  rewrites: (path) => path.replace(/^site\//, '').replace(/\bREADME\.md$/, 'index.md'),
  // Without it, a browser asks for /favicon.ico.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: { anchor: { slugify }, config: repositoryLinks },
  themeConfig: {
    sidebar: SIDEBAR,
    nav: [
      page('Quick start', '/quick-start'),
      page('Guides', '/storefront'),
      page('API', '/api/'),
      page('Operations', '/operations/'),
    ] as DefaultTheme.NavItem[],
    outline: [2, 3],
    search: { provider: 'local' },
  },
  // The pages are above the packages, where Vite would not look for Vue.
  vite: {
    resolve: {
      alias: [
        { find: /^vue$/, replacement: join(MODULES, 'vue/dist/vue.runtime.esm-bundler.js') },
        {
          find: /^vue\/server-renderer$/,
          replacement: join(MODULES, '@vue/server-renderer/dist/server-renderer.esm-bundler.js'),
        },
      ],
    },
  },
  buildEnd: ({ outDir }) => checkLinks(outDir),
});
