// Removes features that Node.js 20, the oldest version for agents, does not have.
const missing = [
  [JSON, ['rawJSON', 'isRawJSON']],
  [Object, ['groupBy']],
  [Map, ['groupBy']],
  [Promise, ['withResolvers', 'try']],
  [Array, ['fromAsync']],
  [RegExp, ['escape']],
  [ArrayBuffer.prototype, ['transfer', 'transferToFixedLength']],
  [Uint8Array, ['fromBase64', 'fromHex']],
  [Uint8Array.prototype, ['toBase64', 'toHex']],
  [
    Set.prototype,
    ['union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom'],
  ],
  [globalThis, ['Iterator', 'Float16Array', 'WebSocket', 'navigator', 'URLPattern']],
]
for (const [owner, names] of missing) for (const name of names) delete owner[name]
const iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))
for (const name of Object.getOwnPropertyNames(iterator)) if (name !== 'constructor') delete iterator[name]
