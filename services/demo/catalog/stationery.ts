import type { DemoListing } from './product';

export const stationery: DemoListing = {
  name: 'Papelería',
  description: 'Cuadernos cosidos a mano, sobres, sellos y todo lo que pide una carta.',
  sort_mode: 'name_asc',
  products: [
    {
      id: 'cuaderno-barranco',
      title: 'Cuaderno Barranco',
      price: '28.00',
      stock: 90,
      featured: 4,
      text: 'Cuaderno A5 cosido, 120 páginas sin líneas, con el Puente de los Suspiros en la tapa.',
      details: ['Papel de 100 g', 'Costura a la vista', 'Se abre del todo plano'],
      reviews: [
        [
          5,
          'No traspasa',
          'Escribo con pluma fuente y no se ve al otro lado.',
          'Elena Vásquez',
          '2025-02-08',
        ],
        [5, 'Voy por el tercero', 'El papel es una delicia.', 'Tomás Güere', '2025-06-22'],
      ],
    },
    {
      id: 'cuaderno-cuadriculado',
      title: 'Cuaderno cuadriculado',
      price: '26.00',
      stock: 75,
      text: 'Cuadrícula de 5 mm en gris claro, para planos y listas.',
    },
    {
      id: 'agenda-perpetua',
      title: 'Agenda perpetua',
      price: '49.90',
      stock: 45,
      text: 'Una semana por doble página, con las fiestas y las lunas del Perú.',
      reviews: [[4, 'Práctica', 'Le pondría un bolsillo atrás.', 'Noemí Tapia', '2025-10-30']],
    },
    {
      id: 'sobres-kraft',
      title: 'Sobres kraft, 25 unidades',
      price: '14.00',
      stock: 120,
      text: 'Sobres de 11 × 16 cm de papel reciclado.',
    },
    {
      id: 'sello-llama',
      title: 'Sello de la llama Ñata',
      price: '19.50',
      stock: 33,
      text: 'Sello de madera y caucho con la llama que vive en nuestro logotipo.',
      reviews: [
        [5, 'Mis alumnos lo adoran', 'Cada tarea buena lleva su llama.', 'Profesora Ángela', '2025-04-03'],
      ],
    },
    {
      id: 'tinta-añil',
      title: 'Tinta añil, 30 ml',
      price: '31.00',
      stock: 17,
      text: 'Tinta para pluma de un azul que vira a violeta al secar.',
    },
    {
      id: 'lapices-grafito',
      title: 'Lápices de grafito, caja de doce',
      price: '24.00',
      stock: 0,
      text: 'De 4H a 6B, en caja de lata.',
    },
    {
      id: 'papel-regalo',
      title: 'Papel de regalo con aves de la costa',
      price: '9.00',
      stock: 200,
      text: 'Pliego de 50 × 70 cm: pelícanos, guanayes y un zarcillo.',
    },
    {
      id: 'tarjetas-empresa',
      title: 'Tarjetas grabadas para empresas',
      price: '350.00',
      private: true,
      text: 'Cien tarjetas en tipografía móvil. Solo por encargo de clientes con cuenta.',
    },
  ],
};
