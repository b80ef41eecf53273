import { formatNumber } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Select, TagsField, TextField } from '../../ui/fields';
import { type AttributeFault, attributeFault, type DraftAttribute } from './fields';

const TYPES = ['text', 'number', 'boolean', 'list'] as const;
const EMPTY_VALUES = { text: '', number: '', boolean: 'true', list: [] } as const;
const ATTRIBUTES_MAX = 50;

export const faultText = (fault: AttributeFault, t: Texts, locale: string): string =>
  fault === 'nameTwice' ? t.product.nameTwice : t.product.noDecimal(formatNumber(12.5, locale));

interface AttributesProps {
  readonly value: readonly DraftAttribute[];
  readonly onChange: (value: readonly DraftAttribute[]) => void;
  readonly fault?: string | undefined;
}

/** Properties by name: texts, numbers, yes or no, and lists. */
export function Attributes({ value, onChange, fault }: AttributesProps) {
  const t = useTexts();
  const replace = (index: number, attribute: DraftAttribute) =>
    onChange(value.map((each, place) => (place === index ? attribute : each)));
  return (
    <>
      {value.map((attribute, index) => (
        <fieldset
          key={index}
          className="attribute"
          aria-label={attribute.name || t.product.attribute(index + 1)}
        >
          <TextField
            label={t.product.attributeName}
            hideLabel={index > 0}
            value={attribute.name}
            maxLength={60}
            fault={attributeFault(attribute, value) === 'nameTwice' ? t.product.nameTwice : undefined}
            onChange={(name) => replace(index, { ...attribute, name })}
          />
          <Select
            label={t.product.attributeType}
            hideLabel={index > 0}
            value={attribute.type}
            options={TYPES.map((type) => ({ id: type, label: t.product.attributeTypes[type] }))}
            onChange={(id) => {
              const type = id as DraftAttribute['type'];
              replace(index, { ...attribute, type, value: EMPTY_VALUES[type] });
            }}
          />
          <div className="attribute-value">
            <AttributeValue
              hideLabel={index > 0}
              attribute={attribute}
              onChange={(next) => replace(index, { ...attribute, value: next })}
            />
          </div>
          <IconButton
            label={t.common.removeNamed(attribute.name)}
            icon="close"
            onPress={() => onChange(value.filter((_, place) => place !== index))}
          />
        </fieldset>
      ))}
      {fault && <p className="fault">{fault}</p>}
      <div className="row">
        <Button
          icon="plus"
          isDisabled={value.length >= ATTRIBUTES_MAX}
          onPress={() => onChange([...value, { name: '', type: 'text', value: '' }])}
        >
          {t.product.addAttribute}
        </Button>
      </div>
    </>
  );
}

interface AttributeValueProps {
  readonly hideLabel: boolean;
  readonly attribute: DraftAttribute;
  readonly onChange: (value: DraftAttribute['value']) => void;
}

function AttributeValue({ attribute, hideLabel, onChange }: AttributeValueProps) {
  const t = useTexts();
  const locale = useLocale();
  const { type, value } = attribute;
  const fault = attributeFault(attribute, []);
  const named = { label: t.product.attributeValue, hideLabel };
  if (type === 'list') return <TagsField {...named} value={value as string[]} onChange={onChange} />;
  if (type === 'boolean')
    return (
      <Select
        {...named}
        value={String(value)}
        options={[
          { id: 'true', label: t.common.yes },
          { id: 'false', label: t.common.no },
        ]}
        onChange={onChange}
      />
    );
  return (
    <TextField
      {...named}
      value={String(value)}
      maxLength={255}
      fault={fault && faultText(fault, t, locale)}
      {...(type === 'number' && { inputMode: 'decimal' as const })}
      onChange={onChange}
    />
  );
}
