const { CHANNELS } = require('../dist/services/feeds/channels');

const BEGIN = /<!-- fields of (\w+) -->\n[\s\S]*?<!-- end -->/g;

/** Returns the page about feeds with the tables of the fields that the channels declare. */
exports.withFeedTables = (page) =>
  page.replace(BEGIN, (_, name) => {
    const { product_fields = [], fields } = CHANNELS[name];
    const rows = [
      ...product_fields.map((field) => rowOf(field, '')),
      ...fields.map((field) => rowOf(field, product_fields.length > 0 ? 'variants[].' : '')),
    ];
    const table = ['| field | made from | limits |', '|---|---|---|', ...rows].join('\n');
    return `<!-- fields of ${name} -->\n${table}\n<!-- end -->`;
  });

function rowOf({ name, from, need, length_max, count_max, rule }, prefix) {
  const limits = [
    typeof need === 'function' ? 'needed for some items' : need,
    length_max && `${length_max.toLocaleString('en')} characters`,
    count_max && `${count_max} values`,
    rule?.text,
  ];
  return `| \`${prefix}${name}\` | ${from} | ${limits.filter(Boolean).join('; ')} |`;
}
