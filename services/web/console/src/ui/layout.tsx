import { type ReactNode, useEffect, useId } from 'react';
import { Tabs as AriaTabs, Tab, TabList, TabPanel } from 'react-aria-components';
import { Link } from 'wouter';
import { Icon } from './icon';
import './layout.css';

interface PageProps {
  readonly title: string;
  /** Beside the title, such as badges. */
  readonly state?: ReactNode;
  /** The buttons of the page; the last one is the main action. */
  readonly actions?: ReactNode;
  /** The page above this one. */
  readonly back?: readonly [href: string, label: string];
  /** A page of a form is narrow; a table takes the whole width. */
  readonly width?: 'form' | 'full';
  readonly children: ReactNode;
}

/** A page: its title, its actions and its content. Sets the title of the window. */
export function Page({ title, state, actions, back, width = 'full', children }: PageProps) {
  useEffect(() => {
    if (title) document.title = `${title} · Console`;
  }, [title]);
  return (
    <main id="main" className={`page ${width}`} tabIndex={-1}>
      {back && (
        <Link href={back[0]} className="page-back">
          <Icon name="chevronLeft" size={14} />
          {back[1]}
        </Link>
      )}
      {title && (
        <header className="page-header">
          <div className="row page-title">
            <h1 dir="auto">{title}</h1>
            {state}
          </div>
          {actions && <div className="row page-actions">{actions}</div>}
        </header>
      )}
      {children}
    </main>
  );
}

interface CardProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly hint?: ReactNode;
  /** Without space around the content, for tables and lists. */
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}

/** A part of a page with a frame. */
export function Card({ title, actions, hint, isFlush = false, children }: CardProps) {
  const id = useId();
  return (
    <section className={isFlush ? 'card flush' : 'card'} {...(title && { 'aria-labelledby': id })}>
      {(title || actions) && (
        <header className="card-header">
          <h2 id={id}>{title}</h2>
          {actions && <div className="row">{actions}</div>}
        </header>
      )}
      {hint && <p className="card-hint muted">{hint}</p>}
      <div className="card-body">{children}</div>
    </section>
  );
}

/** The content on the left, and what is smaller or rarer on the right. One below the other on a phone. */
export const Columns = ({ children, side }: { readonly children: ReactNode; readonly side: ReactNode }) => (
  <div className="columns">
    <div className="stack">{children}</div>
    <div className="stack">{side}</div>
  </div>
);

/** Fields beside each other where there is room. */
export const FieldRow = ({ children }: { readonly children: ReactNode }) => (
  <div className="field-row">{children}</div>
);

/** Names with values, such as the facts of a delivery. */
export const Facts = ({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd dir="auto">{value}</dd>
      </div>
    ))}
  </dl>
);

interface TabsProps {
  readonly label: string;
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  readonly tabs: readonly { readonly id: string; readonly label: ReactNode }[];
  readonly children: ReactNode;
}

/** Tabs above one panel, whose content depends on `selected`. */
export const Tabs = ({ label, selected, onSelect, tabs, children }: TabsProps) => (
  <AriaTabs selectedKey={selected} onSelectionChange={(key) => onSelect(String(key))} className="stack tabs">
    <TabList aria-label={label} className="tab-list">
      {tabs.map((tab) => (
        <Tab key={tab.id} id={tab.id} className="tab">
          {tab.label}
        </Tab>
      ))}
    </TabList>
    <TabPanel key={selected} id={selected} className="tab-panel">
      {children}
    </TabPanel>
  </AriaTabs>
);
