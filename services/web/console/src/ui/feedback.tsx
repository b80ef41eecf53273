import { CatalogProposedError } from 'catalog-client';
import type { ReactNode } from 'react';
import {
  Button as AriaButton,
  ProgressBar as AriaProgressBar,
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from 'react-aria-components';
import { messageOf } from '../lib/errors';
import { type Texts, useTexts } from '../texts/texts';
import { Button } from './button';
import { Icon, type IconName } from './icon';
import './feedback.css';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info';

/** A state, such as `Private` or `Sold out`. */
export const Badge = ({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}) => <span className={`badge ${tone}`}>{children}</span>;

interface BannerProps {
  readonly tone?: Tone;
  readonly title?: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** A message in the page, about the part below it. Screen readers announce a bad one. */
export const Banner = ({ tone = 'info', title, children, actions }: BannerProps) => (
  <div className={`banner ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
    <Icon name={tone === 'good' ? 'check' : tone === 'bad' || tone === 'warn' ? 'warning' : 'info'} />
    <div className="stack tight">
      {title && <strong>{title}</strong>}
      {children}
    </div>
    {actions && <div className="row">{actions}</div>}
  </div>
);

interface EmptyStateProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

/** Says what would be here, and what to do first. */
export const EmptyState = ({ icon, title, children, action }: EmptyStateProps) => (
  <div className="empty">
    <Icon name={icon} size={28} />
    <h2>{title}</h2>
    {children && <p className="muted">{children}</p>}
    {action}
  </div>
);

/** An error instead of the content, with a button that tries again. */
export function ErrorState({
  error,
  onRetry,
}: {
  readonly error: unknown;
  readonly onRetry?: () => unknown;
}) {
  const t = useTexts();
  return (
    <div role="alert">
      <EmptyState
        icon="warning"
        title={messageOf(error, t)}
        action={onRetry && <Button onPress={() => void onRetry()}>{t.common.tryAgain}</Button>}
      />
    </div>
  );
}

/** Grey lines where content is loading. */
export function Loading({ lines = 5 }: { readonly lines?: number }) {
  const t = useTexts();
  return (
    <div className="skeleton" role="status" aria-label={t.common.loading}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={`line-${String(line)}`} />
      ))}
    </div>
  );
}

/** Without `total`, the end is not known. */
export const ProgressBar = ({
  label,
  done,
  total,
}: {
  label: string;
  done?: number;
  total?: number | undefined;
}) => (
  <AriaProgressBar
    aria-label={label}
    isIndeterminate={!total}
    value={done ?? 0}
    maxValue={total || 1}
    className="progress"
  >
    {({ percentage, valueText }) => (
      <>
        <span className="row spread small">
          <span>{label}</span>
          {total ? <span className="number">{valueText}</span> : null}
        </span>
        <svg
          className={total ? 'bar' : 'bar moving'}
          viewBox="0 0 100 4"
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <rect width={total ? percentage : 30} height="4" />
        </svg>
      </>
    )}
  </AriaProgressBar>
);

interface Message {
  readonly text: string;
  readonly tone: Tone;
  readonly undo?: (() => unknown) | undefined;
}

const messages = new ToastQueue<Message>({ maxVisibleToasts: 3 });
const SHORT_MS = 6_000;
/** Long enough to notice a mistake and take it back. */
const UNDO_MS = 20_000;

/** The newest message about a topic. */
const newest = new Map<string, string>();

/**
 * Says at the edge of the page that something was done. `undo` takes it back: the message then has a button for it. A message
 * replaces the one before it about the same `topic`, such as an order that is changed step by step.
 */
export function say(text: string, undo?: () => unknown, topic?: string): void {
  const before = topic && newest.get(topic);
  if (before) messages.close(before);
  const key = messages.add({ text, tone: 'good', undo }, { timeout: undo ? UNDO_MS : SHORT_MS });
  if (topic) newest.set(topic, key);
}
/** Says why something was not done, or that it was proposed. Stays until it is closed. */
export const sayError = (error: unknown, t: Texts): void => {
  const tone = error instanceof CatalogProposedError ? 'info' : 'bad';
  messages.add({ text: messageOf(error, t), tone });
};
/** Says that something was not done. Stays until it is closed. */
export const sayFailed = (text: string): void => {
  messages.add({ text, tone: 'bad' });
};

/** Where the messages of `say` and `sayFailed` appear. */
export function Messages() {
  const t = useTexts();
  const undo = async (undoing: () => unknown) => {
    try {
      await undoing();
    } catch (error) {
      sayError(error, t);
    }
  };
  return (
    <ToastRegion queue={messages} className="messages" aria-label={t.common.messages}>
      {({ toast }) => (
        <Toast toast={toast} className={`message ${toast.content.tone}`}>
          <ToastContent className="message-text">
            <Text slot="title">{toast.content.text}</Text>
          </ToastContent>
          {toast.content.undo && (
            <Button
              kind="quiet"
              icon="undo"
              onPress={() => {
                messages.close(toast.key);
                void undo(toast.content.undo!);
              }}
            >
              {t.common.undo}
            </Button>
          )}
          <AriaButton slot="close" className="button quiet icon-only" aria-label={t.common.close}>
            <Icon name="close" />
          </AriaButton>
        </Toast>
      )}
    </ToastRegion>
  );
}
