import fc from 'fast-check'

/** Every run tries the same values by default, so that a test fails for everybody or for nobody. */
const DEFAULT_SEED = 1

const asked = process.env['SIGNALBOX_TEST_SEED']
fc.configureGlobal({ seed: asked === undefined ? DEFAULT_SEED : Number(asked) })
