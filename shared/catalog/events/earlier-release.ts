/** The release before this one. */
export const EARLIER_RELEASE = '0.1.0';

/** The types of all events that the release before this one reads. A new release replaces the list by its own types. */
const TYPES: ReadonlySet<string> = new Set([
  'AccountCreated',
  'AccountSuspended',
  'AccountReinstated',
  'ApiKeyCreated',
  'ApiKeyExpirySet',
  'ApiKeyRevoked',
  'ApiKeyUsed',
  'StoreCreated',
  'StoreDescribed',
  'StoreStatusChanged',
  'PaymentMethodAdded',
  'PaymentMethodRemoved',
  'ListingCreated',
  'ListingDescribed',
  'ListingVisibilityChanged',
  'ListingSortModeChanged',
  'ListingMediaArranged',
  'ListingDeleted',
  'PublicationCreated',
  'PublicationDescribed',
  'PublicationPriced',
  'PublicationStocked',
  'PublicationFeatured',
  'PublicationVisibilityChanged',
  'PublicationMovedToListing',
  'PublicationMediaArranged',
  'PublicationViewed',
  'PublicationDeleted',
  'MediaUploaded',
  'MediaProcessed',
  'MediaFailed',
  'MediaDeleted',
  'ReviewPosted',
]);

/** Whether the release before this one can read events of this type (CONTRIBUTING.md#deploying-a-new-event). */
export const isKnownToEarlierRelease = (type: string): boolean => TYPES.has(type);
