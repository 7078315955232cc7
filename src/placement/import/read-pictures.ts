import { randomUUID } from 'node:crypto'
import { posix } from 'node:path'
import { invalidField } from '../../platform/errors.ts'
import type { Bundle } from './bundle.ts'
import type { Project } from './project.ts'

const MAX_PICTURES = 100
const MAX_NAME = 500

/** Reads a zip file of pictures only: each one is a floor, named as its file. @throws AppError invalid. */
export function readPictures(bundle: Bundle): Project {
  const pictures = bundle.names.filter((name) => /\.(png|jpe?g)$/i.test(name) && !isOfTheSystem(name))
  if (pictures.length === 0) throw invalidField('file', 'has no PNG or JPEG in it')
  if (pictures.length > MAX_PICTURES) throw invalidField('file', `has more than ${MAX_PICTURES} pictures`)
  const floors = pictures.map((picture) => ({
    id: randomUUID(),
    // A name cut within a surrogate pair could not be stored.
    name: posix.parse(picture).name.slice(0, MAX_NAME).toWellFormed(),
    picture,
    note: null,
    size: null,
    meters: null,
  }))
  return { floors, accessPoints: [] }
}

/** Desktop systems add hidden copies of the files to archives, under similar names. */
function isOfTheSystem(name: string): boolean {
  return name.startsWith('__MACOSX/') || posix.basename(name).startsWith('.')
}
