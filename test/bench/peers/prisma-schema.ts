/** The tables of contact-tables.ts in Prisma's language. */
export const prismaSchema = `
generator client {
  provider = "prisma-client-js"
  output   = "./prisma-client"
}

datasource db {
  provider = "postgresql"
}

model Tag {
  id       Int          @id @default(autoincrement())
  tenantId Int          @map("tenant_id")
  name     String
  contacts ContactTag[]

  @@unique([tenantId, name])
  @@map("tag")
}

model List {
  id       Int           @id @default(autoincrement())
  tenantId Int           @map("tenant_id")
  name     String
  contacts ContactList[]

  @@map("list")
}

model Contact {
  id             Int           @id @default(autoincrement())
  tenantId       Int           @map("tenant_id")
  uuid           String        @unique
  email          String
  emailKey       String        @map("email_key")
  name           String
  attributes     Json
  search         String?       @default(dbgenerated())
  createdAt      DateTime      @map("created_at") @db.Timestamptz
  unsubscribedAt DateTime?     @map("unsubscribed_at") @db.Timestamptz
  tags           ContactTag[]
  lists          ContactList[]

  @@unique([tenantId, emailKey])
  @@index([tenantId, id])
  @@map("contact")
}

model ContactTag {
  contactId Int     @map("contact_id")
  tagId     Int     @map("tag_id")
  contact   Contact @relation(fields: [contactId], references: [id])
  tag       Tag     @relation(fields: [tagId], references: [id])

  @@id([contactId, tagId])
  @@map("contact_tag")
}

model ContactList {
  contactId Int     @map("contact_id")
  listId    Int     @map("list_id")
  contact   Contact @relation(fields: [contactId], references: [id])
  list      List    @relation(fields: [listId], references: [id])

  @@id([contactId, listId])
  @@map("contact_list")
}
`
