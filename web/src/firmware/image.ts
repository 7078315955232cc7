import type { Schemas } from '../api/client.ts'

export type Image = Schemas['FirmwareImage']
export type Upload = Schemas['FirmwareUpload']

/** Returns the uses of an image, one line for each version of a model and for each package. */
export function usesOf({ versions, packages }: Image): readonly string[] {
  return [
    ...versions.map(({ model, version, tag, channel }) => withMarks(`${model} ${version}`, [tag, channel])),
    ...packages.map(({ package: name, version, distro, channel, default: isDefault }) =>
      withMarks(`${name} ${version}`, [distro, channel, isDefault ? 'default' : undefined]),
    ),
  ]
}

function withMarks(text: string, marks: readonly (string | undefined)[]): string {
  const present = marks.filter((mark) => mark !== undefined)
  return present.length === 0 ? text : `${text} (${present.join(', ')})`
}
