import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'

/** Creates a zip file with these entries; documents are encoded as JSON. */
export async function zip(entries: Readonly<Record<string, Buffer | string | object>>): Promise<Buffer> {
  const file = new ZipFile()
  for (const [name, content] of Object.entries(entries)) {
    const bytes = Buffer.isBuffer(content)
      ? content
      : Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
    file.addBuffer(bytes, name)
  }
  file.end()
  return buffer(file.outputStream)
}

export interface ProjectFloor {
  readonly name: string
  readonly picture?: Buffer
  readonly format?: string
  /** Access points by name: their position in the units of the floor, and the antenna data of their first radio. */
  readonly aps?: Readonly<Record<string, { x: number; y: number; antennaHeight?: number; antennaDirection?: number }>>
}

/** Creates an Ekahau project whose floors measure 200 by 100 units of 0.1 m. */
export async function ekahau(floors: readonly ProjectFloor[], more: Record<string, object> = {}): Promise<Buffer> {
  const made = floors.map((floor) => ({ ...floor, id: randomUUID(), imageId: randomUUID() }))
  const accessPoints = made.flatMap(({ id, aps = {} }) =>
    Object.entries(aps).map(([name, { x, y }]) => ({
      id: `ap-${name}`,
      name,
      mine: true,
      location: { floorPlanId: id, coord: { x, y } },
    })),
  )
  const radios = floors.flatMap(({ aps = {} }) =>
    Object.entries(aps).map(([name, { antennaHeight, antennaDirection }]) => ({
      accessPointId: `ap-${name}`,
      antennaHeight,
      antennaDirection,
    })),
  )
  return zip({
    'project.json': { project: { name: 'Test', id: randomUUID() } },
    'floorPlans.json': {
      floorPlans: made.map(({ id, name, imageId }) => ({
        id,
        name,
        imageId,
        width: 200,
        height: 100,
        metersPerUnit: 0.1,
      })),
    },
    'accessPoints.json': { accessPoints },
    'simulatedRadios.json': { simulatedRadios: radios },
    'images.json': { images: made.map(({ imageId, format = 'PNG' }) => ({ id: imageId, imageFormat: format })) },
    ...Object.fromEntries(made.flatMap(({ imageId, picture }) => (picture ? [[`image-${imageId}`, picture]] : []))),
    ...more,
  })
}
