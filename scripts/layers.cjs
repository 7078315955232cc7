// The folders of src/ from the lowest to the highest. Folders of one row never import each other, except for layers.
const layers = [
  'platform',
  'access',
  'events',
  'http',
  'orgs',
  'accounts',
  'maps',
  'devices',
  'firmware',
  'rollout',
  'mxedges',
]
const tops = ['placement', 'upgrades', 'installer', 'webhooks', 'gateway']
// The folder that deletes organizations and sites calls each noun to delete its own rows.
const over = ['removal']
const roofs = ['app', 'bin', 'cli', 'client', 'simulator', 'agent']

// The folders of the gateway that belong to no protocol.
const gatewayRooms = ['admission', 'certificates', 'commands', 'links', 'websockets']

// The folders of web/src/ from the lowest to the highest; above them only app, which has the router.
const webLayers = [
  'api',
  'display',
  'accounts',
  'orgs',
  'devices',
  'maps',
  'mxedges',
  'firmware',
  'upgrades',
  'webhooks',
  'audit',
  'operator',
  'dashboard',
]

/** Returns the folders that a folder of src/ may import from, including itself. */
function below(folder) {
  if (layers.includes(folder)) return layers.slice(0, layers.indexOf(folder) + 1)
  if (tops.includes(folder)) return [...layers, folder]
  return [...layers, ...tops, ...over, ...(roofs.includes(folder) ? roofs : [])]
}

module.exports = { gatewayRooms, layers, tops, over, roofs, webLayers, below }
