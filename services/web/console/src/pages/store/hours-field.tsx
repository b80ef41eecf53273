import { parseTime } from '@internationalized/date';
import { useState } from 'react';
import { DateInput, DateSegment, TimeField } from 'react-aria-components';
import { isSame } from '../../lib/draft';
import { useLanguage, useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Switch, TextField } from '../../ui/fields';
import { dayName, type Interval, type Line, linesOf, readWeek, type Week } from './hours';

const USUAL: Interval = { from: '09:00', to: '18:00' };

interface HoursFieldProps {
  readonly value: readonly Line[];
  readonly onChange: (lines: Line[]) => void;
}

/** The opening hours: a row for each day of the week, and lines for what is not a day. */
export function HoursField({ value, onChange }: HoursFieldProps) {
  const t = useTexts();
  const locale = useLocale();
  const [language] = useLanguage();
  const [typed, setTyped] = useState<{ readonly lines: Line[]; readonly week: Week }>();
  // A line that is typed stays a line, also while its beginning reads like the hours of a day.
  const week = typed && isSame(typed.lines, value) ? typed.week : readWeek(value, language);
  const change = (changes: Partial<Week>) => {
    const next = { ...week, ...changes };
    const lines = linesOf(next);
    setTyped({ lines, week: next });
    onChange(lines);
  };
  const setDay = (day: number, intervals: readonly Interval[]) =>
    change({ days: week.days.with(day, intervals) });
  const setOther = (index: number, line: Line) => change({ others: week.others.with(index, line) });
  return (
    <div className="hours">
      {week.days.map((intervals, day) => {
        const name = dayName(day, locale);
        const set = (index: number, interval: Interval) => setDay(day, intervals.with(index, interval));
        // A day opens like the open day before it.
        const usual = week.days.slice(0, day).findLast((each) => each.length > 0) ?? [USUAL];
        return (
          <div key={name} className="hours-day">
            <Switch isSelected={intervals.length > 0} onChange={(is_on) => setDay(day, is_on ? usual : [])}>
              {name}
            </Switch>
            <div className="hours-times">
              {intervals.length === 0 && <span className="muted">{t.store.closed}</span>}
              {intervals.map((interval, index) => (
                <div key={index} className="row">
                  <Time
                    label={t.store.opens(name)}
                    value={interval.from}
                    onChange={(from) => set(index, { ...interval, from })}
                  />
                  –
                  <Time
                    label={t.store.closes(name)}
                    value={interval.to}
                    onChange={(to) => set(index, { ...interval, to })}
                  />
                  {index === 0 ? (
                    <IconButton
                      label={t.store.addHours(name)}
                      icon="plus"
                      onPress={() => setDay(day, [...intervals, { from: interval.to, to: interval.to }])}
                    />
                  ) : (
                    <IconButton
                      label={t.store.removeHours(name)}
                      icon="close"
                      onPress={() => setDay(day, intervals.toSpliced(index, 1))}
                    />
                  )}
                </div>
              ))}
            </div>
          </div>
        );
      })}
      {week.others.map((line, index) => (
        <div key={index} className="hours-line">
          <TextField
            label={t.store.lineDay}
            value={line.day}
            onChange={(day) => setOther(index, { ...line, day })}
          />
          <TextField
            label={t.store.lineHours}
            value={line.hours}
            onChange={(hours) => setOther(index, { ...line, hours })}
          />
          <IconButton
            label={t.common.removeNamed(line.day)}
            icon="close"
            onPress={() => change({ others: week.others.toSpliced(index, 1) })}
          />
        </div>
      ))}
      <div className="row">
        <Button
          kind="quiet"
          icon="plus"
          onPress={() => change({ others: [...week.others, { day: '', hours: '' }] })}
        >
          {t.store.addLine}
        </Button>
      </div>
    </div>
  );
}

interface TimeProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (time: string) => void;
}

const Time = ({ label, value, onChange }: TimeProps) => (
  <TimeField
    aria-label={label}
    value={parseTime(value)}
    onChange={(time) => time && onChange(time.toString().slice(0, 5))}
  >
    <DateInput className="input hours-time">{(segment) => <DateSegment segment={segment} />}</DateInput>
  </TimeField>
);
