import { useEffect, useMemo, useRef, useState } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useLocale } from '../../texts/texts';
import { WINDOW_S } from './history';
import { clockOf } from './parts';

const HEIGHT = 120;
/** Between two lines of the grid: 1, 2, 5, 10 and so on. */
const INCREMENTS = Array.from({ length: 12 }, (_, power) =>
  [1, 2, 5].map((each) => each * 10 ** power),
).flat();

interface PlotProps {
  readonly title: string;
  /** Says what the plot shows to those who do not see it. */
  readonly text: string;
  readonly at_s: readonly number[];
  /** The last one is drawn as a line, one before it as an area behind the line. */
  readonly series: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
}

/** A plot of the last minutes. Its values now, or under the pointer, are in its title. */
export default function Plot({ title, text, at_s, series }: PlotProps) {
  const locale = useLocale();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const [pointed, setPointed] = useState<number | null>();
  const shown = pointed ?? at_s.length - 1;
  const compact = useMemo(
    () => new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }),
    [locale],
  );
  const textOf = (value: number | null | undefined) =>
    typeof value === 'number' ? compact.format(value) : '–';
  const count = series.length;

  useEffect(() => {
    const element = place.current!;
    // The properties in `operator.css` have the colours, so that they follow the appearance of the page.
    const colorOf = (property: 'color' | 'borderTopColor' | 'stroke' | 'fill' | 'outlineColor') => () =>
      getComputedStyle(element)[property];
    const lines = { stroke: colorOf('borderTopColor'), width: 1 };
    const axis = {
      stroke: colorOf('color'),
      font: '11px Inter Variable',
      grid: lines,
      ticks: { show: false },
    };
    const width = () => ({ width: element.clientWidth, height: HEIGHT });
    const behind = { stroke: colorOf('outlineColor'), fill: colorOf('outlineColor') };
    const made = new UPlot(
      {
        ...width(),
        legend: { show: false },
        padding: [8, 16, 0, 0],
        cursor: { drag: { x: false }, y: false, points: { size: 6 } },
        hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx)] },
        scales: {
          x: { range: () => [Date.now() / 1_000 - WINDOW_S, Date.now() / 1_000] },
          y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.1)] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 24,
            space: 32,
            incrs: [60, 120],
            values: (_, each) => each.map(minuteOf),
          },
          {
            ...axis,
            size: 40,
            space: 30,
            incrs: INCREMENTS,
            values: (_, each) => each.map((value) => compact.format(value)),
          },
        ],
        series: [
          {},
          ...(count === 2 ? [{ ...behind, width: 0 }] : []),
          { stroke: colorOf('stroke'), width: 1.5, ...(count === 1 && { fill: colorOf('fill') }) },
        ].map((each) => ({ ...each, points: { show: false } })),
      },
      [[], ...Array.from({ length: count }, () => [])],
      element,
    );
    plot.current = made;
    const resizing = new ResizeObserver(() => made.setSize(width()));
    resizing.observe(element);
    const redraw = () => made.redraw();
    element.addEventListener('transitionend', redraw);
    return () => {
      resizing.disconnect();
      element.removeEventListener('transitionend', redraw);
      made.destroy();
    };
  }, [compact, count]);

  useEffect(() => {
    plot.current?.setData([[...at_s], ...series.map(({ values }) => [...values])]);
  }, [at_s, series]);

  return (
    <figure className="plot">
      <figcaption className="row spread">
        <span className="plot-title">{title}</span>
        <span className="row plot-values number small muted" aria-hidden="true">
          {pointed != null && <span>{clockOf(at_s[shown]! * 1_000)}</span>}
          {series.map(({ label, values }, index) => (
            <span key={label} className="row">
              {count > 1 && <span className={index === 0 ? 'swatch area' : 'swatch'} />}
              {label} <strong>{textOf(values[shown])}</strong>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} role="img" aria-label={text} className="plot-place" />
    </figure>
  );
}

const minuteOf = (at_s: number): string => clockOf(at_s * 1_000).slice(0, 5);
