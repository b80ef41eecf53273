import type { Texts } from './en';
import { pluralsOf } from './plural';

const plural = pluralsOf('es');

/* The texts of the console in Spanish. */
export const es: Texts = {
  common: {
    cancel: 'Cancelar',
    clearNamed: (name) => `Vaciar ${name}`,
    close: 'Cerrar',
    delete: 'Eliminar',
    discard: 'Descartar',
    edit: 'Editar',
    loading: 'Cargando',
    messages: 'Mensajes',
    more: 'Más acciones',
    none: 'Ninguno',
    removeNamed: (name) => `Quitar ${name}`,
    restore: 'Restaurar',
    save: 'Guardar',
    saved: 'Guardado',
    search: 'Buscar',
    tryAgain: 'Intentar de nuevo',
    undo: 'Deshacer',
    undone: 'Deshecho',
    unsaved: 'Cambios sin guardar',
    yes: 'Sí',
    no: 'No',
  },

  errors: {
    changedMeanwhile: 'Otra persona cambió esto mientras tanto. Revisa los cambios y guarda de nuevo.',
    connection: 'El servicio no responde. Lo que escribiste se conserva.',
    noAmount: 'Escribe un importe como 12,50',
    noNumber: 'Escribe un número entero',
    notAllowed: 'Tu clave no permite hacer esto.',
    notFound: 'Esto ya no existe.',
    tooMany: 'Demasiadas solicitudes. Inténtalo de nuevo en un momento.',
    unavailable: 'El servicio no puede hacer esto en este momento. Inténtalo de nuevo.',
    unknown: 'Algo falló en esta página. Vuelve a cargarla; lo que escribiste se conserva.',
  },

  session: {
    title: 'Iniciar sesión',
    label: 'Clave secreta',
    note: 'La clave secreta de tu tienda empieza con sk_. El navegador no la guarda.',
    signIn: 'Iniciar sesión',
    signOut: 'Cerrar sesión',
    refused: 'Esta clave es desconocida, ha caducado o fue revocada.',
    notSecret: 'Esta no es una clave secreta: una clave secreta empieza con sk_.',
    tooMany: 'Demasiados intentos. Inténtalo más tarde.',
    ended: 'Tu sesión ha terminado',
    endedNote: 'Inicia sesión de nuevo para continuar. Lo que escribiste sigue aquí.',
  },

  shell: {
    language: 'Idioma',
    theme: 'Apariencia',
    themes: { system: 'Como el sistema', light: 'Clara', dark: 'Oscura' },
    commands: 'Comandos',
    commandsHint: 'Escribe un comando o busca productos',
    noCommands: 'No hay coincidencias',
    menu: 'Menú',
    navigation: 'Consola',
    skip: 'Ir al contenido',
    account: 'Cuenta',
    openShop: 'Abrir la tienda',
    switchStore: 'Cambiar de tienda',
    goTo: (page) => `Ir a ${page}`,
    notFound: 'Esta página no existe',
  },

  overview: {
    title: 'Resumen',
  },

  products: {
    title: 'Productos',
    count: (count) => plural(count, '# producto', '# productos'),
  },

  product: {
    title: 'Producto',
    new: 'Producto nuevo',
  },

  listings: {
    title: 'Listados',
    new: 'Listado nuevo',
    newBelow: 'Listado nuevo debajo',
    tree: 'Árbol de listados',
    count: (count) => plural(count, '# listado', '# listados'),
    empty: 'Aún no hay listados',
    emptyHint:
      'Un listado es una categoría de productos, como Té o Ofertas. Un listado puede contener otros.',
    noMatch: (text) => `Ningún listado coincide con «${text}»`,
    expandAll: 'Desplegar todo',
    collapseAll: 'Plegar todo',
    expand: (name) => `Mostrar lo que está debajo de ${name}`,
    drag: (name) => `Arrastrar ${name}`,
    actions: (name) => `Acciones de ${name}`,
    open: 'Abrir',
    rename: 'Cambiar el nombre',
    move: 'Mover a…',
    moveTitle: (name) => `Mover ${name} a`,
    top: 'Inicio del árbol',
    dropAtTop: 'Suelta aquí para moverlo al inicio del árbol',
    seeProducts: 'Ver sus productos',
    private: 'Privado',
    scheduled: (date) => `Público el ${date}`,
    renamed: (name) => `Ahora se llama ${name}`,
    moved: (name, parent) =>
      parent === undefined ? `${name} se movió al inicio` : `${name} se movió a ${parent}`,
    deleted: (name, below) =>
      below === 0
        ? `${name} se eliminó`
        : `${name} y ${plural(below, '# listado', '# listados')} debajo se eliminaron`,
    restored: (name) => `${name} se restauró`,
    deletedTab: 'Eliminados',
    noDeleted: 'No hay listados eliminados',
    noDeletedHint: 'Un listado eliminado se puede restaurar aquí durante 30 días.',
    name: 'Nombre',
    deletedAt: 'Eliminado',
    products: 'Productos',
  },

  media: {
    title: 'Imágenes',
  },

  reviews: {
    title: 'Reseñas',
    statuses: { pending: 'Por moderar', published: 'Publicadas', rejected: 'Rechazadas', all: 'Todas' },
    empty: {
      pending: 'Nada por moderar',
      published: 'No hay reseñas publicadas',
      rejected: 'No hay reseñas rechazadas',
      all: 'Aún no hay reseñas',
    },
    publishedAtOnce:
      'Las reseñas nuevas se publican de inmediato. En los ajustes de la tienda puedes hacer que te esperen.',
    toSettings: 'Ajustes de la tienda',
    keys: [
      ['J', 'K', 'mover'],
      ['P', 'publicar'],
      ['R', 'rechazar'],
      ['X', 'elegir'],
      ['U', 'deshacer'],
    ],
    publish: 'Publicar',
    reject: 'Rechazar',
    verified: 'Compra verificada',
    reviewOf: (author) => `Reseña de ${author}`,
    actions: (author) => `Acciones de la reseña de ${author}`,
    select: (author) => `Elegir la reseña de ${author}`,
    selectAll: 'Elegir todas',
    selected: (count) => plural(count, '# elegida', '# elegidas'),
    clear: 'Quitar la selección',
    stars: (rating) => plural(rating, '# estrella de 5', '# estrellas de 5'),
    ratingOf: (average, count) => `${average} · ${plural(count, '# reseña', '# reseñas')}`,
    noProduct: 'Producto eliminado',
    decided: {
      pending: (count) => plural(count, 'La reseña espera de nuevo', '# reseñas esperan de nuevo'),
      published: (count) => plural(count, 'La reseña se publicó', 'Se publicaron # reseñas'),
      rejected: (count) => plural(count, 'La reseña se rechazó', 'Se rechazaron # reseñas'),
    },
    deleted: (count) => plural(count, 'La reseña se eliminó', 'Se eliminaron # reseñas'),
  },

  imports: {
    title: 'Importar y exportar',
  },

  history: {
    title: 'Historial',
  },

  webhooks: {
    title: 'Webhooks',
  },

  keys: {
    title: 'Claves',
  },

  store: {
    title: 'Tienda',
  },

  operator: {
    title: 'Operación',
  },
};
