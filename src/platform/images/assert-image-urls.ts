import { invalidField } from '../errors.ts'

/**
 * Asserts that a body has no other addresses of pictures than the record. Clients send whole records back with the
 * addresses that they were given; one of another picture would be dropped silently.
 * @param images The names of the record's pictures, by number. Addresses of one picture differ from hour to hour.
 * @throws AppError invalid, which names the field.
 */
export function assertImageUrls(
  images: Readonly<Record<string, string>>,
  body: Readonly<Record<string, unknown>>,
): void {
  for (const number of [1, 2, 3]) {
    const field = `image${number}_url`
    const [value, image] = [body[field] ?? null, images[number]]
    const isSame =
      image === undefined ? value === null : typeof value === 'string' && value.includes(`/images/${image}/`)
    if (field in body && !isSame)
      throw invalidField(field, `can't be changed here: upload the picture, or delete it, at .../image${number}`)
  }
}
