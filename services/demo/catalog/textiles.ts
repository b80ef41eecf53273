import type { DemoListing } from './product';

export const textiles: DemoListing = {
  name: 'Textiles',
  description: 'Alpaca y algodón nativo, tejidos en Ayacucho, Puno y Lambayeque.',
  sort_mode: 'price_desc',
  products: [
    {
      id: 'manta-ayacucho',
      title: 'Manta de Ayacucho',
      price: '420.00',
      stock: 4,
      featured: 5,
      free_shipping: true,
      text: 'Manta de alpaca de 130 × 180 cm, tejida en telar de pedal por el maestro Ñahui.',
      details: ['Alpaca y lana de oveja', 'Tintes de cochinilla y chilca', 'Pieza única'],
      reviews: [
        [5, 'Una obra', 'Está sobre el sillón y nadie se sienta encima.', 'Patricia Oré', '2025-05-29'],
        [5, 'Abriga muchísimo', 'Y no pica nada.', 'Raúl Cárdenas', '2025-07-20'],
      ],
    },
    {
      id: 'chalina-alpaca',
      title: 'Chalina de alpaca bebé',
      price: '165.00',
      stock: 15,
      text: 'Chalina de 180 cm en gris vicuña, azul noche o teja.',
      reviews: [
        [5, 'Suavísima', 'La pedí en teja y el color es igual a la foto.', 'Sofía Llanos', '2025-06-11'],
      ],
    },
    {
      id: 'chullo-puno',
      title: 'Chullo de Puno',
      price: '85.00',
      stock: 11,
      text: 'Tejido a cinco palitos, con orejeras y borla.',
    },
    {
      id: 'camino-mesa',
      title: 'Camino de mesa de algodón nativo',
      price: '78.00',
      stock: 13,
      text: 'Algodón marrón de Mórrope, sin teñir, 40 × 150 cm.',
    },
    {
      id: 'pano-cocina',
      title: 'Paño de cocina, par',
      price: '35.00',
      stock: 52,
      text: 'Dos paños de algodón grueso con rayas de colores.',
    },
    {
      id: 'cojin-retazos',
      title: 'Cojín de retazos',
      price: '92.00',
      stock: 8,
      text: 'Funda de 45 cm cosida con sobrantes de mantas antiguas. No hay dos iguales.',
      reviews: [[3, 'Bonito, relleno aparte', 'No leí que era solo la funda.', 'Gonzalo Meza', '2025-08-02']],
    },
    {
      id: 'bolso-lliclla',
      title: 'Bolso Lliclla',
      price: '145.00',
      stock: 0,
      text: 'Bolso de mano con frente de lliclla antigua y forro de tocuyo.',
    },
    {
      id: 'pantuflas-fieltro',
      title: 'Pantuflas de fieltro',
      price: '69.00',
      stock: 20,
      text: 'Fieltro de lana de oveja, suela cosida. Tallas 35 a 43.',
    },
    {
      id: 'tapiz-encargo',
      title: 'Tapiz por encargo',
      price: '1800.00',
      price_hidden: true,
      text: 'Tapiz de pared diseñado contigo; tres meses de telar. El precio depende de la medida.',
    },
  ],
};
