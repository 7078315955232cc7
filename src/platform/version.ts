import { readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { Value } from 'typebox/value'

const Manifest = Type.Object({ version: Type.String() })

/** The release, as package.json has it. */
export const { version } = Value.Parse(
  Manifest,
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')),
)
