import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { NewWebhook, Webhook } from 'catalog-client';
import { Form } from 'react-aria-components';
import { useApi } from '../../lib/api';
import { useDraft } from '../../lib/draft';
import { fieldErrorsOf, messageOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner, say } from '../../ui/feedback';
import { Checkbox, Select, TagsField, TextField } from '../../ui/fields';
import { Dialog } from '../../ui/overlay';

type Events = NonNullable<NewWebhook['events']>;
type Topic = Events[number]['type'];

/** What can happen to each resource. */
const TOPICS = {
  publication: ['created', 'updated', 'deleted', 'restored'],
  variant: ['created', 'updated', 'deleted'],
  listing: ['created', 'updated', 'deleted', 'restored'],
  media: ['created', 'updated', 'deleted'],
  review: ['created', 'updated', 'deleted'],
  store: ['updated'],
} as const;
type Resource = keyof typeof TOPICS;

interface WebhookDialogProps {
  /** The webhook to change; without it, a new one is created. */
  readonly webhook?: Webhook;
  readonly onClose: () => void;
  readonly onSaved?: (webhook: Webhook) => void;
}

/** Where changes are sent to, and which. */
export function WebhookDialog({ webhook, onClose, onSaved }: WebhookDialogProps) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const draft = useDraft(`webhook/${webhook?.id ?? 'new'}`, {
    url: webhook?.url ?? '',
    description: webhook?.description ?? '',
    is_all: (webhook?.events ?? []).length === 0,
    events: (webhook?.events ?? []) as Events,
  });
  const { url, description, is_all, events } = draft.values;
  const save = useMutation({
    mutationFn: () => {
      const fields = { url, description: description || null, events: is_all ? [] : events };
      return webhook ? client.webhooks.update(webhook.id, fields) : client.webhooks.create(fields);
    },
    onSuccess: (saved) => {
      draft.discard();
      void queries.invalidateQueries({ queryKey: ['webhooks'] });
      if (webhook) say(t.common.saved);
      onSaved?.(saved);
      onClose();
    },
  });
  const faults = fieldErrorsOf(save.error, t);
  const is_without_topic = !is_all && events.length === 0;
  return (
    <Dialog
      title={webhook ? t.webhooks.edit : t.webhooks.new}
      size="large"
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button
            onPress={() => {
              draft.discard();
              onClose();
            }}
          >
            {t.common.cancel}
          </Button>
          <Button
            kind="primary"
            isPending={save.isPending}
            isDisabled={url.trim() === '' || is_without_topic}
            onPress={() => save.mutate()}
          >
            {webhook ? t.common.save : t.webhooks.create}
          </Button>
        </>
      }
    >
      <Form className="stack">
        <TextField
          label={t.webhooks.url}
          hint={t.webhooks.urlHint}
          type="url"
          value={url}
          fault={faults.url}
          isRequired
          autoFocus
          placeholder="https://"
          onChange={(value) => draft.change({ url: value.trim() })}
        />
        <TextField
          label={t.webhooks.description}
          hint={t.webhooks.descriptionHint}
          value={description}
          fault={faults.description}
          onChange={(value) => draft.change({ description: value })}
        />
        <Select
          label={t.webhooks.topics}
          value={is_all ? 'all' : 'some'}
          onChange={(id) => draft.change({ is_all: id === 'all' })}
          options={[
            { id: 'all', label: t.webhooks.allChanges },
            { id: 'some', label: t.webhooks.someChanges },
          ]}
        />
        {!is_all && (
          <div className="topics">
            {(Object.keys(TOPICS) as Resource[]).map((resource) => (
              <ResourceTopics
                key={resource}
                resource={resource}
                events={events}
                onChange={(next) => draft.change({ events: next })}
              />
            ))}
          </div>
        )}
        {save.error && Object.keys(faults).length === 0 && (
          <Banner tone="bad">{messageOf(save.error, t)}</Banner>
        )}
      </Form>
    </Dialog>
  );
}

interface ResourceTopicsProps {
  readonly resource: Resource;
  readonly events: Events;
  readonly onChange: (events: Events) => void;
}

function ResourceTopics({ resource, events, onChange }: ResourceTopicsProps) {
  const t = useTexts();
  const update = events.find(({ type }) => type === `${resource}.updated`);
  const without = (topic: Topic) => events.filter(({ type }) => type !== topic);
  return (
    <fieldset>
      <legend>{t.history.kinds[resource]}</legend>
      <div className="row">
        {TOPICS[resource].map((verb) => {
          const topic = `${resource}.${verb}` as Topic;
          return (
            <Checkbox
              key={verb}
              isSelected={events.some(({ type }) => type === topic)}
              onChange={(is_on) => onChange([...without(topic), ...(is_on ? [{ type: topic }] : [])])}
            >
              {t.webhooks.verbs[verb]}
            </Checkbox>
          );
        })}
      </div>
      {update && (
        <TagsField
          label={t.webhooks.onlyFields}
          hint={t.webhooks.onlyFieldsHint}
          value={update.fields ?? []}
          onChange={(fields) =>
            onChange([...without(update.type), { type: update.type, ...(fields.length > 0 && { fields }) }])
          }
        />
      )}
    </fieldset>
  );
}
