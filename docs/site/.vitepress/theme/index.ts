// Without the font of the theme: the site has the fonts of the reader's system.
export { default } from 'vitepress/theme-without-fonts';

import './style.css';
