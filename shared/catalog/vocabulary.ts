import { z } from 'zod';

/** The closed sets of words that events and answers use (decisions §2, §3, §5, §7). */
export const visibilitySchema = z.enum(['public', 'private']);
export type Visibility = z.infer<typeof visibilitySchema>;

export const storeStatusSchema = z.enum(['active', 'inactive', 'suspended']);
export type StoreStatus = z.infer<typeof storeStatusSchema>;

export const sortModeSchema = z.enum([
  'created_at_desc',
  'created_at_asc',
  'price_asc',
  'price_desc',
  'name_asc',
  'name_desc',
]);
export type SortMode = z.infer<typeof sortModeSchema>;

export const paymentMethodTypeSchema = z.enum(['cash', 'card', 'bank_transfer', 'wallet', 'other']);

/** What pictures may be uploaded as, by their bytes (decisions §6). */
export const imageTypeSchema = z.enum(['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif']);
export type ImageType = z.infer<typeof imageTypeSchema>;

/** The sizes that every picture comes in, the smallest first: at most 200, 480, 960 and 1600 px wide. */
export const variantNameSchema = z.enum(['thumb', 'small', 'medium', 'large']);
export type VariantName = z.infer<typeof variantNameSchema>;

export const mediaStatusSchema = z.enum(['processing', 'ready', 'failed']);

export const environmentSchema = z.enum(['live', 'test']);
export const keyTypeSchema = z.enum(['public', 'secret']);
export type KeyType = z.infer<typeof keyTypeSchema>;

export const permissionSchema = z.enum([
  'read:stores',
  'read:listings',
  'read:publications',
  'read:media',
  'read:payment_methods',
  'read:reviews',
  'write:listings',
  'write:publications',
  'write:media',
]);
export type Permission = z.infer<typeof permissionSchema>;

/** Every permission a key of this type may hold; a key may be created with fewer (decisions §7). */
export function permissionsOf(type: KeyType): Permission[] {
  return permissionSchema.options.filter((name) => type === 'secret' || name.startsWith('read:'));
}
