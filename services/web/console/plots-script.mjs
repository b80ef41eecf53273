// Draws the partitions of each realm, and keeps their table up to date. Without this script, the page shows the table only.
import uPlot from 'uplot';

const EVERY_MS = 2_000;
const TIMEOUT_MS = 10_000;
const WINDOW_S = 300;
const HEIGHT = 180;
/** Rows of the table, as the status names them. */
const ROWS = ['position', 'lag', 'dead_letters'];

const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const countOf = (value) => (value === null ? '–' : compact.format(value));
const clockOf = (at_s) => new Date(at_s * 1_000).toTimeString().slice(0, 8);
const colorOf = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name);
/** Colours with enough contrast to a light and to a dark ground: eight, as there are partitions. */
const seriesOf = (label, index) => ({
  ...{ label, width: 2, stroke: `oklch(0.62 0.16 ${index * 45 + 30})`, dash: index % 2 ? [6, 3] : [] },
  value: (_, value) => countOf(value),
});

/** Creates a plot of the last minutes. */
function createPlot(place, labels) {
  const line = { stroke: colorOf('--line'), width: 1 };
  const axis = { stroke: colorOf('--soft'), font: '12px system-ui, sans-serif', grid: line, ticks: line };
  const minutes = (_, each) => each.map((at_s) => clockOf(at_s).slice(0, 5));
  const size = () => ({ width: place.clientWidth, height: HEIGHT });
  const options = {
    ...{ ...size(), cursor: { drag: { x: false } } },
    scales: {
      x: { range: () => [Date.now() / 1_000 - WINDOW_S, Date.now() / 1_000] },
      y: { range: { min: { pad: 0, soft: 0, mode: 1 }, max: { pad: 0.1, soft: 1, mode: 1 } } },
    },
    axes: [
      { ...axis, space: 30, incrs: [60], values: minutes },
      { ...axis, values: (_, each) => each.map(countOf) },
    ],
    series: [{ label: 'time', value: (_, at_s) => clockOf(at_s) }, ...labels.map(seriesOf)],
  };
  const plot = new uPlot(options, [[], ...labels.map(() => [])], place);
  new ResizeObserver(() => plot.setSize(size())).observe(place);
  return plot;
}

/** Adds values, null for a gap. The legend shows them, unless the pointer is on the plot. */
function addTo(plot, at_s, values, text) {
  const data = [at_s, ...values].map((value, index) => [...plot.data[index], value]);
  const first = data[0].findIndex((each) => each >= at_s - WINDOW_S);
  plot.setData(data.map((each) => each.slice(first)));
  if (plot.cursor.left < 0) plot.setLegend({ idx: plot.data[0].length - 1 });
  plot.root.parentElement.setAttribute('aria-label', text);
}

/** Returns a function that shows one status of the realm, or `problem` if there is none. */
function createRealm(plots) {
  const { realm } = plots.dataset;
  const section = plots.closest('section');
  const note = plots.querySelector('[role=status]');
  const rows = [...section.querySelectorAll('.partitions tbody tr')].map(({ cells }) => [...cells].slice(1));
  plots.hidden = false;
  const lag = createPlot(plots.querySelector('.lag'), [...rows[0].keys()].map(String));
  const rate = createPlot(plots.querySelector('.rate'), ['appended', 'projected by all partitions']);
  let last;
  return (at_s, status, problem) => {
    const found = status?.find((each) => each.realm === realm && each.lag?.length === rows[0].length);
    const reason = found ? '' : (problem ?? 'The documents cannot be read, or are new: load the page again.');
    if (note.textContent !== reason) note.textContent = reason;
    if (found) {
      section.querySelector('.head').textContent = found.head;
      for (const [row, cells] of rows.entries())
        for (const [column, cell] of cells.entries()) cell.textContent = found[ROWS[row]][column];
    }
    const lags = found?.lag ?? rows[0].map(() => null);
    const largest = `The largest lag of ${realm} is ${Math.max(...lags)}. The table has the lag of each partition.`;
    addTo(lag, at_s, lags, reason || largest);

    const now = found && { at_s, appended: found.head, projected: Math.min(...found.position) };
    const rates = ['appended', 'projected'].map((name) =>
      now && last ? Math.max(0, (now[name] - last[name]) / (at_s - last.at_s)) : null,
    );
    last = now;
    const [written, projected] = rates.map(countOf);
    const text = `Positions of ${realm} per second: ${written} appended, ${projected} projected.`;
    addTo(rate, at_s, rates, reason || text);
  };
}

const realms = [...document.querySelectorAll('.plots')].map(createRealm);
let answered_s = Date.now() / 1_000;

async function poll() {
  try {
    // A tab that nobody sees asks for nothing.
    if (!document.hidden) await showStatus();
  } finally {
    setTimeout(poll, EVERY_MS);
  }
}

async function showStatus() {
  let status;
  let problem;
  try {
    const answer = await fetch('/console/operator/status', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    answered_s = Date.now() / 1_000;
    if (answer.ok) status = await answer.json();
    else if (answer.status === 401) problem = 'The session has ended. Sign in again.';
    else problem = `The service answers with ${answer.status}. Trying again.`;
  } catch {
    // The service is stopped, or cannot be reached.
    problem = `No answer since ${clockOf(answered_s)}. Trying again.`;
  }
  for (const show of realms) show(Date.now() / 1_000, status, problem);
}

await poll();
