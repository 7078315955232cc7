import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A user whom the user database does not know. */
export const otherUser = { uid: 12_345, gid: 12_345 } as const

/** True if a process of that user can run the sources: tests run as root, and not from a folder that only root may enter, such as its home. */
export const mayRunAsOther =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ['--eval', 'fs.readFileSync(process.argv[1])', fileURLToPath(import.meta.url)], otherUser)
    .status === 0
