/** How a shop reads the catalog: as any storefront does, with a public key. */
export interface Connection {
  /** The address of the service. */
  readonly base_url: string;
  readonly public_key: string;
}

/** Returns the connection of the store that a host shows. Undefined if there is none. */
export type ConnectShop = (host: string | undefined) => Promise<Connection | undefined>;

interface Named {
  readonly id: string;
  readonly handle?: string | undefined;
}

/** Returns the path of the page of a product. */
export const productPath = ({ handle, id }: Named): string => `/p/${encodeURIComponent(handle ?? id)}`;
/** Returns the path of the page of a listing. */
export const listingPath = ({ handle, id }: Named): string => `/c/${encodeURIComponent(handle ?? id)}`;
