import type { DemoListing } from './product';

export const candles: DemoListing = {
  name: 'Velas y aromas',
  description: 'Cera de soya y aceites de plantas peruanas, vertidas en nuestros propios vasos.',
  products: [
    {
      id: 'vela-palo-santo',
      title: 'Vela Palo Santo',
      price: '45.00',
      stock: 30,
      featured: 7,
      text: 'Madera dulce y un poco de limón; cuarenta horas de luz.',
      reviews: [
        [5, 'Huele de verdad', 'No es ese olor de detergente de otras.', 'Camila Arrieta', '2025-04-17'],
        [4, 'Rinde', 'Me duró casi dos meses.', 'Fabián Lévano', '2025-08-25'],
      ],
    },
    {
      id: 'vela-hierbaluisa',
      title: 'Vela Hierbaluisa',
      price: '45.00',
      stock: 28,
      text: 'Fresca y verde, para la cocina.',
    },
    {
      id: 'vela-cafe',
      title: 'Vela Café con leche',
      price: '45.00',
      stock: 0,
      text: 'Con granos de nuestra tostaduría en la cera.',
    },
    {
      id: 'vela-misa',
      title: 'Velas largas, par',
      price: '18.00',
      stock: 64,
      text: 'Dos velas de mesa de 28 cm, en marfil o azul noche.',
    },
    {
      id: 'sahumerio',
      title: 'Sahumerio de octubre',
      price: '25.00',
      stock: 55,
      text: 'El aroma morado de la procesión: incienso, mirra y romero.',
    },
    {
      id: 'jabon-muna',
      title: 'Jabón de muña',
      price: '15.00',
      stock: 77,
      text: 'Jabón de aceite de oliva con hojas de muña; 110 g.',
    },
    {
      id: 'difusor-molle',
      title: 'Difusor Molle',
      price: '58.00',
      stock: 19,
      text: 'Pimienta rosa del molle serrano, con varillas de caña.',
    },
    {
      id: 'portavela-adobe',
      title: 'Portavela Adobe',
      price: '39.00',
      stock: 16,
      text: 'Bloque de barro cocido con hueco para vela pequeña.',
      reviews: [[5, 'Sencillo y bello', 'Compré tres y forman una hilera.', 'Úrsula Weiss', '2025-05-05']],
    },
  ],
};

export const prints: DemoListing = {
  name: 'Láminas y libros',
  description: 'Imprenta pequeña: láminas en riso y serigrafía, y libros que hablan de Lima.',
  products: [
    {
      id: 'lamina-malecon',
      title: 'Lámina Malecón',
      price: '60.00',
      stock: 25,
      featured: 9,
      text: 'Serigrafía a tres tintas, 30 × 40 cm, numerada y firmada por Íngrid Paucar.',
      reviews: [
        [5, 'Colores intensos', 'Enmarcada es la primera cosa que miran.', 'Álvaro Benavides', '2025-06-30'],
      ],
    },
    {
      id: 'lamina-mercado',
      title: 'Lámina Mercado de Surquillo',
      price: '45.00',
      stock: 40,
      text: 'Risografía a dos tintas, 29 × 42 cm.',
    },
    {
      id: 'lamina-aves',
      title: 'Lámina Aves de la Costa Verde',
      price: '45.00',
      stock: 31,
      text: 'Doce aves que se ven desde el acantilado.',
    },
    {
      id: 'postales-lima',
      title: 'Postales de Lima, juego de ocho',
      price: '20.00',
      stock: 88,
      text: 'Ocho esquinas del Centro a Chorrillos.',
    },
    {
      id: 'libro-balcones',
      title: 'Balcones: una guía a pie',
      price: '68.00',
      stock: 12,
      text: 'Cinco caminatas por los balcones de cajón del Centro. 144 páginas.',
      reviews: [
        [4, 'Para caminar despacio', 'Faltaría un mapa desplegable.', 'Martín Zegarra', '2025-09-09'],
      ],
    },
    {
      id: 'libro-ceviche',
      title: 'Cuaderno de ceviches',
      price: '52.00',
      stock: 0,
      text: 'Veinte recetas de doce caletas, ilustradas.',
    },
    {
      id: 'mapa-huacas',
      title: 'Mapa de las huacas de Lima',
      price: '30.00',
      stock: 48,
      text: 'Plegable, con horarios y la historia de cada una.',
    },
    {
      id: 'calendario-perpetuo',
      title: 'Calendario de pared perpetuo',
      price: '42.00',
      stock: 60,
      text: 'Doce láminas para arrancar y guardar.',
    },
    {
      id: 'prueba-imprenta',
      title: 'Pruebas de imprenta',
      price: '10.00',
      private: true,
      text: 'Pliegos de ajuste de color, para talleres con colegios.',
    },
  ],
};
