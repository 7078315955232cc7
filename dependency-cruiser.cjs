// The import rules of ARCHITECTURE.md. Imports point down; nouns at the top never import each other.
const { gatewayRooms, layers, over, roofs, tops, webLayers } = require('./scripts/layers.cjs')

const within = (names) => `^src/(${names.join('|')})/`
/** The folder of a device protocol: each folder of the gateway that is not one of its own rooms. */
const protocol = `(?!(?:${gatewayRooms.join('|')})/)[^/]+/`
const rule = (name, from, to) => ({ name, severity: 'error', from, to })

module.exports = {
  forbidden: [
    rule('no-cycle', {}, { circular: true }),
    ...layers.map((layer, index) =>
      rule(
        `${layer}-imports-only-lower`,
        { path: within([layer]) },
        { path: within([...layers.slice(index + 1), ...tops, ...over, ...roofs]) },
      ),
    ),
    ...tops.map((top) =>
      rule(
        `${top}-knows-no-sibling`,
        { path: within([top]) },
        { path: within([...tops.filter((other) => other !== top), ...over, ...roofs]) },
      ),
    ),
    rule('removal-imports-only-lower', { path: within(over) }, { path: within(roofs) }),
    rule(
      'app-knows-no-program',
      { path: within(['app']) },
      { path: within(['bin', 'cli', 'client', 'simulator', 'agent']) },
    ),
    rule(
      'gateway-knows-no-protocol',
      { path: '^src/gateway/', pathNot: `^src/gateway/(protocols\\.ts$|${protocol})` },
      { path: `^src/gateway/${protocol}` },
    ),
    rule(
      'protocol-knows-no-other',
      { path: `^src/gateway/(${protocol})` },
      { path: `^src/gateway/(${protocol}|protocols\\.ts$)`, pathNot: '^src/gateway/$1' },
    ),
    rule(
      'protocol-only-in-gateway',
      { path: '^src/', pathNot: '^src/(gateway|simulator|agent)/' },
      { path: `^src/gateway/${protocol}` },
    ),
    // The command lines share the receiver of webhooks and the import of firmware.
    rule('cli-speaks-http-only', { path: '^src/cli/' }, { path: '^src/', pathNot: '^src/(cli|client|platform)/' }),
    rule(
      'client-speaks-http-only',
      { path: '^src/client/' },
      { path: '^src/', pathNot: '^src/client/|^src/platform/(version|message-of)\\.ts$' },
    ),
    rule(
      'simulator-shares-only-codecs',
      { path: '^src/simulator/', pathNot: '\\.test\\.ts$' },
      {
        path: '^src/',
        pathNot:
          '^src/(simulator|platform)/|^src/gateway/(websockets/jsonrpc|certificates/device-ca|ucentral/(?:extension-)?messages|netconf/(framing|byte-queue|xml))\\.ts$',
      },
    ),
    rule(
      'agent-shares-only-codecs',
      { path: '^src/agent/' },
      {
        path: '^src/',
        // Besides the codecs: declarations that both sides keep to, which import nothing of the server.
        pathNot:
          '^src/agent/|^src/platform/(ed25519|message-of)\\.ts$|^src/gateway/(websockets/jsonrpc|edge/(router-)?messages)\\.ts$|^src/mxedges/(commands/time-limits|sessions/machine)\\.ts$',
      },
    ),
    rule(
      'agent-needs-few-packages',
      { path: '^src/agent/', pathNot: '\\.test\\.ts$' },
      { path: 'node_modules/', pathNot: 'node_modules/(@types/)?(ws|node)/' },
    ),
    rule(
      'sql-only-in-store',
      { path: '^src/', pathNot: '(/store[^/]*\\.ts$|^src/platform/)' },
      { path: 'node_modules/(kysely|pg)/', dependencyTypesNot: ['type-only'] },
    ),
    rule(
      'http-only-in-routes',
      { path: '^src/', pathNot: '(/routes[^/]*\\.ts$|^src/http/|^src/app/)' },
      { path: 'node_modules/(@fastify|fastify)/' },
    ),
    rule(
      'wire-only-from-routes',
      { path: '^src/', pathNot: '(/routes[^/]*\\.ts$|/wire[^/]*(\\.test)?\\.ts$)' },
      { path: '/wire[^/]*\\.ts$' },
    ),
    rule(
      'pure-has-no-io',
      { path: '(/strategies/|/driver\\.ts$|/(plan|decide)-[^/]+\\.ts$)', pathNot: '\\.test\\.ts$' },
      {
        path: '(^src/platform/(database/|context|log)|/store|node_modules/(pg|kysely|fastify)/|^(fs|net|http|https|child_process|timers)$)',
        dependencyTypesNot: ['type-only'],
      },
    ),
    // The console: a program of its own, which knows the server by its published document alone.
    rule('server-knows-no-console', { path: '^(src|bench|soak)/' }, { path: '^web/' }),
    rule('console-speaks-http-only', { path: '^web/', pathNot: '\\.test\\.tsx?$' }, { path: '^src/' }),
    ...webLayers.map((layer, index) =>
      rule(
        `console-${layer}-imports-only-lower`,
        { path: `^web/src/${layer}/` },
        { path: `^web/src/(${[...webLayers.slice(index + 1), 'app'].join('|')})/` },
      ),
    ),
    // A page is a folder of a noun, or a noun of its own; only the router opens it. The folders of display have no pages.
    rule(
      'page-knows-no-other',
      { path: '^web/src/([^/]+)/([^/]+)/' },
      { path: '^web/src/[^/]+/[^/]+/', pathNot: '^web/src/($1/$2|display/[^/]+)/' },
    ),
    // What several pages share is at the root of their noun.
    rule(
      'noun-knows-no-page',
      { path: '^web/src/(?!app/)[^/]+/[^/]+$' },
      { path: '^web/src/[^/]+/[^/]+/', pathNot: '^web/src/display/' },
    ),
    rule(
      'page-is-opened-by-the-router',
      { path: '^web/src/', pathNot: '^web/src/app/router\\.tsx$' },
      { path: '^web/src/.*-page\\.tsx$' },
    ),
  ],
  options: {
    // TypeScript 7 has no API that dependency-cruiser could use.
    parser: 'swc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx'] },
  },
}
