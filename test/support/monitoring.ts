import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A query of the alert rules or of the dashboard. */
export interface Query {
  /** The alert, or the panel and the letter of the query. */
  readonly name: string;
  readonly query: string;
  /** Labels that the text of the alert or the legend shows. */
  readonly shown_labels: readonly string[];
}

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
  }[];
}

export interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

export const ALERTS_FILE = 'docs/operations/prometheus/alerts.yml';

export const alerts: readonly Alert[] = parse(readFileSync(ALERTS_FILE, 'utf8')).groups.flatMap(
  (group: { rules: Alert[] }) => group.rules,
);

export const dashboard = JSON.parse(
  readFileSync('docs/operations/grafana/catalog.json', 'utf8'),
) as Dashboard;

/** The queries of the alert rules. */
export const alertQueries: readonly Query[] = alerts.map(({ alert, expr, annotations }) => ({
  name: alert,
  query: expr.trim(),
  shown_labels: [
    ...Object.values(annotations)
      .join(' ')
      .matchAll(/\$labels\.(\w+)/g),
  ].map(([, label]) => label!),
}));

/** The queries of the dashboard, with its variables replaced as Grafana does. */
export const panelQueries: readonly Query[] = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ refId, expr, legendFormat }) => ({
    name: `${title} ${refId}`,
    query: expr
      .replaceAll('$job', 'catalog')
      .replaceAll('$instance', '.*')
      .replaceAll('$__rate_interval', '1m'),
    shown_labels: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
  })),
);
