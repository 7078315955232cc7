import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type AppError, invalidField } from '../errors.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import type { Decoded, DecoderAnswer, DecoderJob, Shrink } from './decoder-job.ts'
import { type DecodeLimits, TOO_LARGE_EXIT_CODE } from './decoder-limits.ts'
import { brokenImage } from './refusals.ts'

const PROGRAM = fileURLToPath(new URL('decoder-process.ts', import.meta.url))
const FLAGS = ['--disable-warning=ExperimentalWarning']

/** Limiting their number bounds the memory of all together. */
const inTurn = limitConcurrency({ running: 2, waiting: 50, refusal: 'Too many images at once: try again soon' })

/**
 * Decodes a picture to its last line, in a separate process that ends with it: a picture that makes the decoder slow,
 * large or crash affects only that process. See docs/decisions/0014-decoding-in-a-process.md.
 * @throws AppError invalid for a picture that can't be decoded within the limits; rate_limited.
 */
export async function decodeImage(path: string, limits: DecodeLimits): Promise<Decoded> {
  return inTurn(() => runDecoder({ path, shrink: null }, limits))
}

/** As decodeImage(), and writes a smaller copy. When this throws, the caller removes a partial copy. */
export async function shrinkImageFile(path: string, shrink: Shrink, limits: DecodeLimits): Promise<Decoded> {
  return inTurn(() => runDecoder({ path, shrink }, limits))
}

async function runDecoder(
  job: Omit<DecoderJob, 'memoryBytes'>,
  { memoryBytes, withinMs }: DecodeLimits,
): Promise<Decoded> {
  const argument = JSON.stringify({ ...job, memoryBytes } satisfies DecoderJob)
  const options = { timeout: withinMs, killSignal: 'SIGKILL', windowsHide: true } as const
  const answer = await new Promise<DecoderAnswer>((resolve, reject) => {
    execFile(process.execPath, [...FLAGS, PROGRAM, argument], options, (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout) as DecoderAnswer) // decoder-process.ts writes it.
      else reject(refusalOf(error, { memoryBytes, withinMs }) ?? error)
    })
  })
  if (answer.kind === 'refused') throw invalidField('file', answer.why)
  return answer
}

/** @returns Undefined if the picture is not the cause: then it is a defect, or the machine can't start a process. */
function refusalOf(
  { killed, code, signal }: { readonly killed?: boolean; readonly code?: unknown; readonly signal?: unknown },
  { memoryBytes, withinMs }: DecodeLimits,
): AppError | undefined {
  if (killed === true) return invalidField('file', `takes longer than ${withinMs / 1000} s to decode`)
  // The system kills the largest process when memory is short.
  if (code === TOO_LARGE_EXIT_CODE || signal === 'SIGKILL')
    return invalidField('file', `takes more than ${memoryBytes / 1024 / 1024} MiB of memory to decode`)
  return typeof signal === 'string' ? brokenImage() : undefined
}
