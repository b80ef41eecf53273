import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import {
  ALERTS_FILE,
  alertQueries,
  alerts,
  dashboard,
  panelQueries,
  type Query,
} from '../../support/monitoring';
import { describeWithProgram, run } from '../../support/programs';

const FOLDER = 'docs/operations/prometheus';
/** What Prometheus adds to the name of a histogram. */
const SUFFIX = /_(?:bucket|count|sum)$/;
const STORIES_FILE = `${FOLDER}/alerts_test.yml`;

describe('the alert rules', () => {
  const headings = [...readFileSync('docs/operations/runbook.md', 'utf8').matchAll(/^## (.+)$/gm)];

  test('each say what happened, how severe it is, and where the runbook says what to do', () => {
    expect(alerts.length).toBeGreaterThan(10);
    for (const { alert, labels, annotations } of alerts)
      expect({ alert, labels, annotations }).toEqual({
        alert: expect.stringMatching(/^Catalog[A-Z]\w+$/),
        labels: { severity: expect.stringMatching(/^(warning|critical)$/) },
        annotations: {
          summary: expect.stringMatching(/\.$/),
          description: expect.stringMatching(/\{\{ .*\.$/),
          runbook: `docs/operations/runbook.md#${alert.toLowerCase()}`,
        },
      });
  });

  test('have a section of the runbook each, in the same order', () => {
    expect(headings.map(([, heading]) => heading)).toEqual(alerts.map(({ alert }) => alert));
  });

  test('fire in a story each', () => {
    const stories = readFileSync(STORIES_FILE, 'utf8');
    const fired = new Set([...stories.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name));
    expect([...fired].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
    expect(parse(stories).tests.length).toBeGreaterThanOrEqual(alerts.length);
  });

  describeWithProgram('promtool', 'promtool', () => {
    test('accepts the configuration and the rules', () => {
      expect(run('promtool', ['check', 'config', `${FOLDER}/prometheus.yml`])).toContain('SUCCESS');
      expect(run('promtool', ['check', 'rules', ALERTS_FILE])).toContain(`${alerts.length} rules found`);
    });

    test('finds that the alerts of each story fire, and no others', () => {
      expect(run('promtool', ['test', 'rules', STORIES_FILE])).toContain('SUCCESS');
    });
  });
});

describe('the dashboard', () => {
  const { panels, templating } = dashboard;

  test('has panels with a description, of which no two have the same id', () => {
    const charts = panels.filter(({ type }) => type !== 'row');
    expect(charts.length).toBeGreaterThan(20);
    for (const { title, description, targets } of charts)
      expect([title, description, targets?.length]).toEqual([title, expect.any(String), expect.any(Number)]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  test('has panels that do not cover each other', () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, x < 24, taken.get(`${x} ${y}`)]).toEqual([title, true, undefined]);
          taken.set(`${x} ${y}`, title);
        }
  });

  test('shows every metric of the service, and neither it nor an alert asks for another one', () => {
    const rows = [...readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(catalog_\w+)` .*$/gm)];
    const metrics = rows.map(([, name]) => name!);
    const asked = (queries: readonly Query[]): string[] =>
      queries
        .flatMap(({ query }) => query.match(/\bcatalog_\w+/g) ?? [])
        .map((name) => name.replace(SUFFIX, ''));
    expect(metrics.length).toBeGreaterThan(15);
    expect(asked([...alertQueries, ...panelQueries]).filter((name) => !metrics.includes(name))).toEqual([]);
    expect(metrics.filter((name) => !asked(panelQueries).includes(name))).toEqual([]);
  });

  test('uses the variables that it declares, and no others', () => {
    const text = JSON.stringify(panels).replaceAll('$__rate_interval', '');
    const used = new Set([...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name));
    expect([...used].sort()).toEqual(templating.list.map(({ name }) => name).sort());
  });
});
