# SPDX-License-Identifier: Apache-2.0
"""SQLAlchemy: objects of a table, loaded in a session."""
from sqlalchemy import Column, Integer, String, create_engine
from sqlalchemy.orm import Session, declarative_base

USES = ["sqlalchemy", "sqlite3"]

Base = declarative_base()


class Item(Base):
    __tablename__ = "items"
    id = Column(Integer, primary_key=True)
    name = Column(String)


def insert(session, count):
    session.bulk_save_objects([Item(name=f"item {n}") for n in range(count)])
    session.commit()


def load(session):
    return session.query(Item).all()


engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
session = Session(engine)
insert(session, 20_000)
items = load(session)
print({"load": None})
