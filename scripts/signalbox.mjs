#!/usr/bin/env node
// The command line `signalbox` in the PATH of a user (npm link, npx): runs it with the pinned Node, in the folder of the user.
process.argv.splice(2, 0, 'signalbox')
await import('./run.mjs')
