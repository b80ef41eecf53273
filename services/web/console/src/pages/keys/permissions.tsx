import type { Key } from 'catalog-client';
import { useTexts } from '../../texts/texts';
import { Checkbox } from '../../ui/fields';

export type Permission = Key['permissions'][number];

/** What a key may read and write, by resource. */
const GROUPS = [
  ['publications', 'read:publications', 'write:publications'],
  ['listings', 'read:listings', 'write:listings'],
  ['media', 'read:media', 'write:media'],
  ['reviews', 'read:reviews', 'write:reviews'],
  ['stores', 'read:stores', 'write:stores'],
  ['payment_methods', 'read:payment_methods'],
  ['webhooks', 'write:webhooks'],
] as const satisfies readonly (readonly [string, ...Permission[]])[];

export const ALL_PERMISSIONS: readonly Permission[] = GROUPS.flatMap(([, ...permissions]) => permissions);
const isRead = (permission: Permission): boolean => permission.startsWith('read:');
/** The permissions that a key of the type can have. */
export const permissionsOf = (type: Key['type']): readonly Permission[] =>
  type === 'secret' ? ALL_PERMISSIONS : ALL_PERMISSIONS.filter(isRead);

interface PermissionsFieldProps {
  readonly type: Key['type'];
  readonly value: readonly Permission[];
  readonly onChange: (permissions: readonly Permission[]) => void;
}

/** Checkboxes for reading and writing each resource. */
export function PermissionsField({ type, value, onChange }: PermissionsFieldProps) {
  const t = useTexts();
  const known = permissionsOf(type);
  return (
    <div className="permissions">
      {GROUPS.map(([resource, ...permissions]) => {
        const shown = permissions.filter((each) => known.includes(each));
        if (shown.length === 0) return null;
        return (
          <fieldset key={resource}>
            <legend>{t.keys.resources[resource]}</legend>
            {shown.map((permission) => (
              <Checkbox
                key={permission}
                {...(!isRead(permission) && { style: { gridColumn: 3 } })}
                isSelected={value.includes(permission)}
                onChange={(is_on) =>
                  onChange(known.filter((each) => (each === permission ? is_on : value.includes(each))))
                }
              >
                {isRead(permission) ? t.keys.read : t.keys.write}
              </Checkbox>
            ))}
          </fieldset>
        );
      })}
    </div>
  );
}

/** What a key may do, in a line for each resource. */
export function PermissionsList({ permissions }: { readonly permissions: readonly Permission[] }) {
  const t = useTexts();
  return (
    <ul className="list stack tight">
      {GROUPS.map(([resource, ...all]) => {
        const granted = all.filter((each) => permissions.includes(each));
        if (granted.length === 0) return null;
        const verbs = granted.map((each) => (isRead(each) ? t.keys.read : t.keys.write).toLowerCase());
        return (
          <li key={resource} className="row spread">
            {t.keys.resources[resource]}
            <span className="muted">{verbs.join(', ')}</span>
          </li>
        );
      })}
    </ul>
  );
}
