import { type Static, Type } from 'typebox'
import { checkOf } from '../../platform/json/check-of.ts'

/** Runs a script: `shell` in base64, or the device's own `diagnostic`. With `uri`, its output is posted there. */
export const Script = Type.Object({
  serial: Type.String(),
  /** 0: immediately. */
  when: Type.Optional(Type.Integer({ minimum: 0 })),
  type: Type.Union([Type.Literal('shell'), Type.Literal('diagnostic')]),
  script: Type.Optional(Type.String()),
  /** Seconds. */
  timeout: Type.Optional(Type.Integer({ minimum: 0 })),
  uri: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
})
export type Script = Static<typeof Script>

const ScriptStatus = Type.Object({
  /** The exit code of the script; an access point that could not run it writes a word. */
  error: Type.Union([Type.Integer(), Type.String()]),
  text: Type.Optional(Type.String()),
  /** The output of the script, or a remark of the client. */
  result: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  /** The same, compressed and in base64. */
  result_64: Type.Optional(Type.String()),
})
export type ScriptStatus = Static<typeof ScriptStatus>

/** A device's reply to `script`. */
const ScriptResult = Type.Object({ status: ScriptStatus })

export const isScriptResult = checkOf(ScriptResult)
