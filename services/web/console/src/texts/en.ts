import { pluralsOf } from './plural';

const plural = pluralsOf('en');

/* The texts of the console in English. Each section belongs to a page. */
export const en = {
  common: {
    cancel: 'Cancel',
    clearNamed: (name: string) => `Clear ${name}`,
    close: 'Close',
    delete: 'Delete',
    discard: 'Discard',
    edit: 'Edit',
    loading: 'Loading',
    messages: 'Messages',
    more: 'More actions',
    none: 'None',
    removeNamed: (name: string) => `Remove ${name}`,
    restore: 'Restore',
    save: 'Save',
    saved: 'Saved',
    search: 'Search',
    tryAgain: 'Try again',
    undo: 'Undo',
    undone: 'Undone',
    unsaved: 'Unsaved changes',
    yes: 'Yes',
    no: 'No',
  },

  errors: {
    changedMeanwhile: 'Somebody has changed this meanwhile. Look at the changes, then save again.',
    connection: 'The service does not answer. What you typed is kept.',
    noAmount: 'Type an amount such as 12.50',
    noNumber: 'Type a whole number',
    notAllowed: 'Your key may not do this.',
    notFound: 'This does not exist any more.',
    tooMany: 'Too many requests. Try again in a moment.',
    unavailable: 'The service cannot do this at the moment. Try again.',
    unknown: 'Something went wrong in this page. Reload it; what you typed is kept.',
  },

  session: {
    title: 'Sign in',
    label: 'Secret key',
    note: 'A secret key of your store begins with sk_. The browser does not keep it.',
    signIn: 'Sign in',
    signOut: 'Sign out',
    refused: 'This key is unknown, expired or revoked.',
    notSecret: 'This is not a secret key: a secret key begins with sk_.',
    tooMany: 'Too many attempts. Try again later.',
    ended: 'Your session has ended',
    endedNote: 'Sign in again to go on. What you typed is still here.',
  },

  shell: {
    language: 'Language',
    theme: 'Appearance',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    commands: 'Commands',
    commandsHint: 'Type a command, or search products',
    noCommands: 'Nothing matches',
    menu: 'Menu',
    navigation: 'Console',
    skip: 'To the content',
    account: 'Account',
    openShop: 'Open the shop',
    switchStore: 'Switch store',
    goTo: (page: string) => `Go to ${page}`,
    notFound: 'There is no such page',
  },

  overview: {
    title: 'Overview',
  },

  products: {
    title: 'Products',
    count: (count: number) => plural(count, '# product', '# products'),
  },

  product: {
    title: 'Product',
    new: 'New product',
  },

  listings: {
    title: 'Listings',
    new: 'New listing',
    newBelow: 'New listing below',
    tree: 'Tree of listings',
    count: (count: number) => plural(count, '# listing', '# listings'),
    empty: 'No listings yet',
    emptyHint:
      'A listing is a category of products, such as Tea or Summer sale. A listing can contain others.',
    noMatch: (text: string) => `No listing matches “${text}”`,
    expandAll: 'Expand all',
    collapseAll: 'Collapse all',
    expand: (name: string) => `Show what is below ${name}`,
    drag: (name: string) => `Drag ${name}`,
    actions: (name: string) => `Actions for ${name}`,
    open: 'Open',
    rename: 'Rename',
    move: 'Move to…',
    moveTitle: (name: string) => `Move ${name} to`,
    top: 'Top of the tree',
    dropAtTop: 'Drop here to move it to the top',
    seeProducts: 'See its products',
    private: 'Private',
    scheduled: (date: string) => `Public on ${date}`,
    renamed: (name: string) => `Renamed to ${name}`,
    moved: (name: string, parent: string | undefined) =>
      parent === undefined ? `Moved ${name} to the top` : `Moved ${name} to ${parent}`,
    deleted: (name: string, below: number) =>
      below === 0
        ? `Deleted ${name}`
        : `Deleted ${name} and ${plural(below, '# listing', '# listings')} below it`,
    restored: (name: string) => `Restored ${name}`,
    deletedTab: 'Deleted',
    noDeleted: 'No deleted listings',
    noDeletedHint: 'A deleted listing can be restored here for 30 days.',
    name: 'Name',
    deletedAt: 'Deleted',
    products: 'Products',
  },

  media: {
    title: 'Media',
  },

  reviews: {
    title: 'Reviews',
    statuses: { pending: 'To moderate', published: 'Published', rejected: 'Rejected', all: 'All' },
    empty: {
      pending: 'Nothing to moderate',
      published: 'No published reviews',
      rejected: 'No rejected reviews',
      all: 'No reviews yet',
    },
    publishedAtOnce:
      'New reviews are published at once. In the settings of the store you can have them wait for you.',
    toSettings: 'Settings of the store',
    keys: [
      ['J', 'K', 'move'],
      ['P', 'publish'],
      ['R', 'reject'],
      ['X', 'select'],
      ['U', 'undo'],
    ],
    publish: 'Publish',
    reject: 'Reject',
    verified: 'Verified purchase',
    reviewOf: (author: string) => `Review by ${author}`,
    actions: (author: string) => `Actions for the review by ${author}`,
    select: (author: string) => `Select the review by ${author}`,
    selectAll: 'Select all',
    selected: (count: number) => plural(count, '# selected', '# selected'),
    clear: 'Clear selection',
    stars: (rating: number) => plural(rating, '# star of 5', '# stars of 5'),
    ratingOf: (average: string, count: number) => `${average} · ${plural(count, '# review', '# reviews')}`,
    noProduct: 'Deleted product',
    decided: {
      pending: (count: number) => plural(count, 'The review waits again', '# reviews wait again'),
      published: (count: number) => plural(count, 'Published the review', 'Published # reviews'),
      rejected: (count: number) => plural(count, 'Rejected the review', 'Rejected # reviews'),
    },
    deleted: (count: number) => plural(count, 'Deleted the review', 'Deleted # reviews'),
  },

  imports: {
    title: 'Import and export',
  },

  history: {
    title: 'History',
  },

  webhooks: {
    title: 'Webhooks',
  },

  keys: {
    title: 'Keys',
  },

  store: {
    title: 'Store',
  },

  operator: {
    title: 'Operator',
  },
};

/** All texts of the console in one language. A text with a value is a function. */
export type Texts = typeof en;
