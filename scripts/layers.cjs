// The folders of src/ from the lowest to the highest; those of one row never import each other, but for layers.
const layers = ['platform', 'access', 'events', 'http', 'orgs', 'accounts', 'maps', 'devices', 'firmware', 'rollout']
const tops = ['placement', 'mxedges', 'upgrades', 'installer', 'webhooks', 'gateway']
// What takes an organization or a site away asks each noun to remove what is its own.
const over = ['removal']
const roofs = ['app', 'bin', 'cli', 'simulator']

/** Which folders a folder of src/ may know, itself included. */
function below(folder) {
  if (layers.includes(folder)) return layers.slice(0, layers.indexOf(folder) + 1)
  if (tops.includes(folder)) return [...layers, folder]
  return [...layers, ...tops, ...over, ...(roofs.includes(folder) ? roofs : [])]
}

module.exports = { layers, tops, over, roofs, below }
