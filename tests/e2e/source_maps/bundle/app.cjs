// src/cache.ts
var Cache = class {
  constructor(prefix) {
    this.prefix = prefix;
  }
  pages = /* @__PURE__ */ new Map();
  keep(id, make) {
    const page = make(id, Buffer.alloc(3e5 /* Large */, this.prefix));
    this.pages.set(id, page);
    return page;
  }
  get count() {
    return this.pages.size;
  }
};
function scratch() {
  return Buffer.alloc(1e5 /* Small */, 1);
}
var pool = [];
async function refill(count) {
  for (let i = 0; i < count; i++) {
    await null;
    pool.push(scratch());
  }
}

// src/main.ts
var cache = new Cache("x");
function scratch2() {
  return Buffer.concat([
    Buffer.alloc(
      5e5,
      1
    )
  ]);
}
function fill(count) {
  for (let id = 0; id < count; id++) {
    cache.keep(id, (at, body) => ({ id: at, body }));
  }
  return scratch2();
}
var kept = fill(20);
refill(20).then(() => console.log(cache.count, pool.length, kept.length));
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsiLi4vc3JjL2NhY2hlLnRzIiwgIi4uL3NyYy9tYWluLnRzIl0sCiAgIm1hcHBpbmdzIjogIjtBQWFPLElBQU0sUUFBTixNQUE0QjtBQUFBLEVBR2pDLFlBQTZCLFFBQWdCO0FBQWhCO0FBQUEsRUFBaUI7QUFBQSxFQUY3QixRQUFRLG9CQUFJLElBQWU7QUFBQSxFQUk1QyxLQUNFLElBQ0EsTUFDRztBQUNILFVBQU0sT0FBTyxLQUFLLElBQUksT0FBTyxNQUFNLGlCQUFZLEtBQUssTUFBTSxDQUFDO0FBQzNELFNBQUssTUFBTSxJQUFJLElBQUksSUFBSTtBQUN2QixXQUFPO0FBQUEsRUFDVDtBQUFBLEVBRUEsSUFBSSxRQUFnQjtBQUNsQixXQUFPLEtBQUssTUFBTTtBQUFBLEVBQ3BCO0FBQ0Y7QUFFQSxTQUFTLFVBQWtCO0FBQ3pCLFNBQU8sT0FBTyxNQUFNLGlCQUFZLENBQUM7QUFDbkM7QUFFTyxJQUFNLE9BQWlCLENBQUM7QUFFL0IsZUFBc0IsT0FBTyxPQUE4QjtBQUN6RCxXQUFTLElBQUksR0FBRyxJQUFJLE9BQU8sS0FBSztBQUM5QixVQUFNO0FBQ04sU0FBSyxLQUFLLFFBQVEsQ0FBQztBQUFBLEVBQ3JCO0FBQ0Y7OztBQ3hDQSxJQUFNLFFBQVEsSUFBSSxNQUFZLEdBQUc7QUFHakMsU0FBU0EsV0FBa0I7QUFDekIsU0FBTyxPQUFPLE9BQU87QUFBQSxJQUNuQixPQUFPO0FBQUEsTUFDTDtBQUFBLE1BQ0E7QUFBQSxJQUNGO0FBQUEsRUFDRixDQUFDO0FBQ0g7QUFFQSxTQUFTLEtBQUssT0FBdUI7QUFDbkMsV0FBUyxLQUFLLEdBQUcsS0FBSyxPQUFPLE1BQU07QUFDakMsVUFBTSxLQUFLLElBQUksQ0FBQyxJQUFJLFVBQVUsRUFBRSxJQUFJLElBQUksS0FBSyxFQUFFO0FBQUEsRUFDakQ7QUFDQSxTQUFPQSxTQUFRO0FBQ2pCO0FBRUEsSUFBTSxPQUFlLEtBQUssRUFBRTtBQUM1QixPQUFPLEVBQUUsRUFBRSxLQUFLLE1BQU0sUUFBUSxJQUFJLE1BQU0sT0FBTyxLQUFLLFFBQVEsS0FBSyxNQUFNLENBQUM7IiwKICAibmFtZXMiOiBbInNjcmF0Y2giXQp9Cg==
