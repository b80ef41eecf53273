import type { DemoListing } from './product';

export const workshops: DemoListing = {
  name: 'Talleres',
  description: 'Mañanas y tardes en el taller: se aprende haciendo, y todo se lleva a casa.',
  sort_mode: 'created_at_asc',
  products: [
    {
      id: 'taller-torno',
      title: 'Taller de torno para empezar',
      price: '180.00',
      stock: 6,
      featured: 10,
      text: 'Tres horas, seis personas, dos piezas por persona ya horneadas.',
      reviews: [
        [
          5,
          'Paciencia infinita',
          'Gracias, Yésica, por no reírte de mi primer cuenco.',
          'Joaquín Prado',
          '2025-07-05',
        ],
        [5, 'Volveré', 'La mejor tarde del mes.', 'Milagros Ponce', '2025-08-16'],
      ],
    },
    {
      id: 'taller-encuadernacion',
      title: 'Taller de encuadernación japonesa',
      price: '140.00',
      stock: 8,
      text: 'Una tarde, un cuaderno, cuatro costuras.',
    },
    {
      id: 'taller-catacion',
      title: 'Cata de cafés',
      price: '60.00',
      stock: 12,
      text: 'Cinco orígenes a ciegas y una ficha para anotar.',
    },
    {
      id: 'taller-velas',
      title: 'Taller de velas',
      price: '95.00',
      stock: 0,
      text: 'Elige los aceites y lleva dos velas en vaso de gres.',
    },
    {
      id: 'taller-telar',
      title: 'Taller de telar de cintura',
      price: '220.00',
      stock: 4,
      text: 'Dos mañanas con la maestra Saturnina Mamani.',
    },
    {
      id: 'taller-ninos',
      title: 'Barro para niños',
      price: '70.00',
      stock: 10,
      text: 'De seis a once años; los padres toman café.',
    },
    {
      id: 'tarjeta-regalo',
      title: 'Tarjeta de regalo',
      price: '100.00',
      text: 'Para cualquier taller o cosa de la tienda; vale un año.',
    },
    {
      id: 'taller-empresas',
      title: 'Taller para empresas',
      price: '1500.00',
      price_hidden: true,
      text: 'Hasta veinte personas, en nuestro local o en el suyo. Pídenos una propuesta.',
    },
  ],
};

/** Still being prepared: the storefront does not see it, nor what is private in it. */
export const season: DemoListing = {
  name: 'Navidad (en preparación)',
  description: 'Lo que sale a la venta el primero de diciembre.',
  private: true,
  products: [
    {
      id: 'nacimiento-barro',
      title: 'Nacimiento de barro',
      price: '160.00',
      stock: 12,
      private: true,
      text: 'Siete figuras de Quinua, Ayacucho.',
    },
    {
      id: 'adorno-estrella',
      title: 'Estrella de totora',
      price: '12.00',
      stock: 150,
      private: true,
      text: 'Adorno trenzado en el lago.',
    },
    {
      id: 'canasta-navidad',
      title: 'Canasta de Navidad',
      price: '240.00',
      stock: 20,
      private: true,
      text: 'Panetón de chocolate, café, miel y una taza.',
    },
    {
      id: 'paneton-cacao',
      title: 'Panetón de cacao',
      price: '58.00',
      stock: 40,
      text: 'Ya se puede pedir por enlace directo, antes de que abra la sección.',
    },
  ],
};
